//! What was measured on: numbers mean little without it.

use std::{fmt, fs, thread};

use serde::Serialize;

/// The machine, as far as its system says.
#[derive(Serialize)]
pub struct Machine {
    processors: Option<usize>,
    /// Of the first processor (/proc/cpuinfo).
    model: Option<String>,
    memory_bytes: Option<u64>,
    /// The kernel's version.
    kernel: Option<String>,
    /// Processes that were ready to run, over the last minute before (proc_loadavg(5)).
    load_average: Option<f64>,
}

impl Machine {
    pub fn here() -> Self {
        Self {
            processors: thread::available_parallelism().ok().map(Into::into),
            model: field("/proc/cpuinfo", "model name"),
            memory_bytes: field("/proc/meminfo", "MemTotal")
                .and_then(|kib| kib.strip_suffix(" kB")?.parse::<u64>().ok())
                .map(|kib| kib << 10),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease").ok().map(|release| release.trim().to_owned()),
            load_average: fs::read_to_string("/proc/loadavg").ok().and_then(|line| line.split(' ').next()?.parse().ok()),
        }
    }
}

/// The value of the first line `NAME: VALUE`.
fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let value = text.lines().find_map(|line| line.split_once(':').filter(|(key, _)| key.trim() == name))?.1;
    Some(value.trim().to_owned())
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { processors, model, memory_bytes, kernel, load_average } = self;
        let said = [
            processors.map(|count| format!("{count} processors")),
            model.clone(),
            memory_bytes.map(|bytes| format!("{} GiB of memory", bytes >> 30)),
            kernel.as_ref().map(|kernel| format!("kernel {kernel}")),
            load_average.map(|load| format!("load average before: {load}")),
        ];
        write!(f, "{}", said.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}
