//! What was measured, as a table for people and as JSON.

use std::{fmt, time::Duration};

use serde::Serialize;

use crate::machine::Machine;

/// One server in one case.
#[derive(Serialize)]
pub struct Measured {
    case: String,
    era: &'static str,
    connections: usize,
    server: &'static str,
    /// Median of the rounds.
    requests_per_second: f64,
    /// Over all rounds, in microseconds.
    p50_us: f64,
    p99_us: f64,
    /// What one request costs the server, in microseconds of computing, the kernel's part included. It depends least on what else the machine
    /// does. Absent where the system does not say.
    cpu_us: Option<f64>,
    /// How many times as fast the first server of the case is: the median of the rounds' ratios.
    ratio: f64,
    /// Each round's requests a second.
    rounds: Vec<f64>,
}

impl Measured {
    /// `first` are the rounds of the server that the others are compared with.
    #[allow(clippy::too_many_arguments, reason = "each is one column")]
    pub fn new(
        case: &str,
        era: &'static str,
        connections: usize,
        server: &'static str,
        rounds: &[f64],
        mut latencies: Vec<u32>,
        cpu_us: Option<f64>,
        first: &[f64],
    ) -> Self {
        latencies.sort_unstable();
        let ratios = first.iter().zip(rounds).map(|(first, own)| first / own).collect();
        Self {
            case: case.to_owned(),
            era,
            connections,
            server,
            requests_per_second: median(rounds.to_vec()),
            p50_us: quantile(&latencies, 0.5),
            p99_us: quantile(&latencies, 0.99),
            cpu_us,
            ratio: median(ratios),
            rounds: rounds.to_vec(),
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[odd / 2],
        even => (values[even / 2 - 1] + values[even / 2]) / 2.0,
    }
}

/// Of sorted nanoseconds, in microseconds.
fn quantile(sorted: &[u32], part: f64) -> f64 {
    let at = (sorted.len() as f64 * part) as usize;
    sorted.get(at.min(sorted.len().saturating_sub(1))).map_or(f64::NAN, |nanoseconds| f64::from(*nanoseconds) / 1000.0)
}

/// What an idle session or listen takes.
#[derive(Serialize)]
pub struct Weighed {
    pub what: &'static str,
    pub server: &'static str,
    pub count: usize,
    /// Resident memory of the process, for each.
    pub bytes_each: f64,
}

/// How long new versions took to reach a client. All times are in milliseconds.
#[derive(Serialize)]
pub struct Reloaded {
    case: String,
    count: usize,
    /// Until the update, or for a save until the new content was read. Of fewer than 100, the p99 is the slowest.
    p50_ms: f64,
    p99_ms: f64,
    /// Until `list_changed`.
    list_p50_ms: Option<f64>,
    list_p99_ms: Option<f64>,
    /// What the build took of it.
    build_p50_ms: Option<f64>,
    build_share: Option<f64>,
}

impl Reloaded {
    pub fn new(case: &str, times: Vec<Duration>, lists: Option<Vec<Duration>>, builds: Option<Vec<Duration>>) -> Self {
        let shares = builds.iter().flatten().zip(&times).map(|(build, time)| build.as_secs_f64() / time.as_secs_f64()).collect();
        let build_share = builds.as_ref().map(|_| median(shares));
        let sorted = |times: Vec<Duration>| {
            let mut times: Vec<u32> = times.iter().map(|time| u32::try_from(time.as_nanos()).unwrap_or(u32::MAX)).collect();
            times.sort_unstable();
            times
        };
        let (times, lists, builds) = (sorted(times), lists.map(sorted), builds.map(sorted));
        let ms = |times: &Vec<u32>, part| quantile(times, part) / 1000.0;
        Self {
            case: case.to_owned(),
            count: times.len(),
            p50_ms: ms(&times, 0.5),
            p99_ms: ms(&times, 0.99),
            list_p50_ms: lists.as_ref().map(|lists| ms(lists, 0.5)),
            list_p99_ms: lists.as_ref().map(|lists| ms(lists, 0.99)),
            build_p50_ms: builds.as_ref().map(|builds| ms(builds, 0.5)),
            build_share,
        }
    }
}

/// Reads alone, and the same reads while a component is compiled. Latencies are in microseconds.
#[derive(Serialize)]
pub struct Beside {
    requests_per_second: u32,
    /// The first is the one that the others are compared with.
    loads: Vec<Load>,
    /// From the new file to the loaded component, each round, in seconds.
    compiled_s: Vec<f64>,
}

/// The same requests, while the machine does something.
#[derive(Debug, Serialize)]
struct Load {
    while_: &'static str,
    count: usize,
    p50_us: f64,
    p99_us: f64,
    /// Of the p99s.
    ratio: f64,
}

impl Beside {
    /// Of the latencies in nanoseconds, by what the machine did besides.
    pub fn new(requests_per_second: u32, latencies: impl IntoIterator<Item = (&'static str, Vec<u32>)>, took: &[Duration]) -> Self {
        let mut loads: Vec<Load> = Vec::new();
        for (while_, mut latencies) in latencies {
            latencies.sort_unstable();
            let p99_us = quantile(&latencies, 0.99);
            let ratio = p99_us / loads.first().map_or(p99_us, |first| first.p99_us);
            loads.push(Load { while_, count: latencies.len(), p50_us: quantile(&latencies, 0.5), p99_us, ratio });
        }
        Self { requests_per_second, loads, compiled_s: took.iter().map(Duration::as_secs_f64).collect() }
    }

    fn lines(&self) -> String {
        let what = format!("reads of another provider, {}/s", self.requests_per_second);
        let mut lines = vec![format!("{what:38} {:>6} {:>9} {:>9} {:>9}", "count", "p50", "p99", "ratio")];
        for Load { while_, count, p50_us, p99_us, ratio } in &self.loads {
            lines.push(format!("{while_:38} {count:>6} {p50_us:>6.0} µs {p99_us:>6.0} µs {ratio:>9.2}"));
        }
        let took: Vec<String> = self.compiled_s.iter().map(|seconds| format!("{seconds:.1} s")).collect();
        lines.push(format!("from the new file to the loaded component: {}", took.join(", ")));
        lines.join("\n")
    }
}

/// One change, told to all who listen. All times are in milliseconds, from the request that makes the provider announce it.
#[derive(Serialize)]
pub struct Announced {
    era: &'static str,
    listeners: usize,
    /// Over all listeners and rounds.
    p50_ms: f64,
    p99_ms: f64,
    /// Until the last of them was told: the median of the rounds, and the worst.
    last_p50_ms: f64,
    last_worst_ms: f64,
    /// What telling one costs the host, in microseconds of computing.
    cpu_us: Option<f64>,
    /// Resident memory of the host for each.
    bytes_each: f64,
    /// Until all of them, reading as soon as they are told, have their answers; and how often the provider was asked.
    herd_ms: f64,
    herd_reads: usize,
}

impl Announced {
    #[allow(clippy::too_many_arguments, reason = "each is one column")]
    pub fn new(
        era: &'static str,
        listeners: usize,
        times: Vec<Duration>,
        mut last: Vec<Duration>,
        cpu_us: Option<f64>,
        bytes_each: f64,
        herd: (Duration, usize),
    ) -> Self {
        let mut times: Vec<u32> = times.iter().map(|time| u32::try_from(time.as_nanos()).unwrap_or(u32::MAX)).collect();
        times.sort_unstable();
        last.sort_unstable();
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        Self {
            era,
            listeners,
            p50_ms: quantile(&times, 0.5) / 1000.0,
            p99_ms: quantile(&times, 0.99) / 1000.0,
            last_p50_ms: median(last.iter().copied().map(ms).collect()),
            last_worst_ms: last.last().copied().map_or(f64::NAN, ms),
            cpu_us,
            bytes_each,
            herd_ms: ms(herd.0),
            herd_reads: herd.1,
        }
    }
}

/// More announcements than anybody can be told of.
#[derive(Serialize)]
pub struct Stormed {
    pub listeners: usize,
    pub items: usize,
    pub announced_per_second: f64,
    /// Notifications that reached the listeners, all together.
    pub told_per_second: f64,
    /// How many processors the host kept busy.
    pub processors: Option<f64>,
    /// Resident memory of the host before, and the most while it went on.
    pub bytes_before: u64,
    pub bytes_peak: u64,
}

/// A host from its start on. All times are in milliseconds.
#[derive(Serialize)]
pub struct Started {
    pub case: String,
    /// Of compiled code, before the start.
    pub cache: &'static str,
    /// Until the first request has its answer, until a resource was read, and until all components are loaded.
    answered_ms: f64,
    read_ms: f64,
    loaded_ms: f64,
    /// At rest: its memory by the number of providers, its memory maps, and how much of a processor it uses.
    pub bytes_each: Option<f64>,
    pub maps: Option<usize>,
    pub idle_percent: Option<f64>,
}

impl Started {
    pub fn new(answered: Duration, read: Duration, loaded: Duration) -> Self {
        let [answered_ms, read_ms, loaded_ms] = [answered, read, loaded].map(|time| time.as_secs_f64() * 1000.0);
        Self { case: String::new(), cache: "", answered_ms, read_ms, loaded_ms, bytes_each: None, maps: None, idle_percent: None }
    }
}

#[derive(Default, Serialize)]
pub struct Table {
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<Machine>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    speed: Vec<Measured>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    memory: Vec<Weighed>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reload: Vec<Reloaded>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    beside: Vec<Beside>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fanout: Vec<Announced>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    storm: Vec<Stormed>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    start: Vec<Started>,
}

impl Table {
    /// Nothing measured yet, on this machine.
    pub fn on(machine: Machine) -> Self {
        Self { machine: Some(machine), ..Self::default() }
    }

    pub fn add(&mut self, measured: Measured) {
        eprintln!(
            "  {}, {}, {} connections: {} {:.0}/s",
            measured.case, measured.era, measured.connections, measured.server, measured.requests_per_second
        );
        self.speed.push(measured);
    }

    pub fn weigh(&mut self, weighed: Weighed) {
        self.memory.push(weighed);
    }

    pub fn reloaded(&mut self, reloaded: Reloaded) {
        eprintln!("  {}: {:.0} ms", reloaded.case, reloaded.p50_ms);
        self.reload.push(reloaded);
    }

    pub fn announced(&mut self, announced: Announced) {
        eprintln!("  {} listeners, {}: the last was told after {:.1} ms", announced.listeners, announced.era, announced.last_p50_ms);
        self.fanout.push(announced);
    }

    pub fn started(&mut self, started: Started) {
        eprintln!("  {}, {}: all loaded after {:.0} ms", started.case, started.cache, started.loaded_ms);
        self.start.push(started);
    }

    pub fn stormed(&mut self, stormed: Stormed) {
        self.storm.push(stormed);
    }

    pub fn beside(&mut self, beside: Beside) {
        self.beside.push(beside);
    }

    pub fn join(&mut self, other: Self) {
        self.speed.extend(other.speed);
        self.memory.extend(other.memory);
        self.reload.extend(other.reload);
        self.beside.extend(other.beside);
        self.fanout.extend(other.fanout);
        self.storm.extend(other.storm);
        self.start.extend(other.start);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(machine) = &self.machine {
            writeln!(f, "{machine}")?;
        }
        if !self.speed.is_empty() {
            writeln!(
                f,
                "{:16} {:7} {:>5}  {:12} {:>11} {:>10} {:>10} {:>9} {:>7}",
                "", "era", "conns", "server", "requests/s", "p50", "p99", "CPU", "ratio"
            )?;
        }
        let mut before = None;
        for measured in &self.speed {
            let case = (&measured.case, measured.era, measured.connections);
            let (name, era, connections) = if before == Some(case) {
                (String::new(), "", String::new())
            } else {
                (measured.case.clone(), measured.era, measured.connections.to_string())
            };
            before = Some(case);
            writeln!(
                f,
                "{name:16} {era:7} {connections:>5}  {:12} {:>11.0} {:>7.0} µs {:>7.0} µs {:>6.1} µs {:>7.2}",
                measured.server,
                measured.requests_per_second,
                measured.p50_us,
                measured.p99_us,
                measured.cpu_us.unwrap_or(f64::NAN),
                measured.ratio
            )?;
        }
        if !self.memory.is_empty() {
            writeln!(f, "{:36} {:12} {:>8} {:>12}", "resident memory, idle", "server", "count", "bytes each")?;
        }
        for Weighed { what, server, count, bytes_each } in &self.memory {
            writeln!(f, "{what:36} {server:12} {count:>8} {bytes_each:>12.0}")?;
        }
        if !self.reload.is_empty() {
            let title = "new version until it reaches a client";
            writeln!(f, "{title:38} {:>6} {:>9} {:>9} {:>9} {:>9} {:>14}", "count", "p50", "p99", "list p50", "list p99", "build p50")?;
        }
        for Reloaded { case, count, p50_ms, p99_ms, list_p50_ms, list_p99_ms, build_p50_ms, build_share } in &self.reload {
            let ms = |time: &Option<f64>| time.map_or_else(|| "-".into(), |time| format!("{time:.0} ms"));
            let share = build_share.map_or_else(String::new, |share| format!(" ({:.0} %)", share * 100.0));
            let (list, list_p99, build) = (ms(list_p50_ms), ms(list_p99_ms), ms(build_p50_ms) + &share);
            writeln!(f, "{case:38} {count:>6} {p50_ms:>6.0} ms {p99_ms:>6.0} ms {list:>9} {list_p99:>9} {build:>14}")?;
        }
        for beside in &self.beside {
            writeln!(f, "{}", beside.lines())?;
        }
        if !self.fanout.is_empty() {
            writeln!(
                f,
                "{:24} {:>9} {:>9} {:>9} {:>10} {:>10} {:>10} {:>11} {:>6}",
                "one change, told to", "p50", "p99", "last p50", "last worst", "CPU each", "bytes each", "all read", "calls"
            )?;
        }
        for Announced { era, listeners, p50_ms, p99_ms, last_p50_ms, last_worst_ms, cpu_us, bytes_each, herd_ms, herd_reads } in
            &self.fanout
        {
            let cpu = cpu_us.map_or_else(|| "-".into(), |cpu| format!("{cpu:.1} µs"));
            writeln!(
                f,
                "{:24} {p50_ms:>6.1} ms {p99_ms:>6.1} ms {last_p50_ms:>6.1} ms {last_worst_ms:>7.1} ms {cpu:>10} {bytes_each:>10.0} {herd_ms:>8.1} ms {herd_reads:>6}",
                format!("{listeners} listeners, {era}"),
            )?;
        }
        if !self.start.is_empty() {
            writeln!(
                f,
                "{:20} {:>6} {:>12} {:>12} {:>12} {:>12} {:>7} {:>9}",
                "from the start on", "cache", "first answer", "first read", "all loaded", "bytes each", "maps", "idle CPU"
            )?;
        }
        for Started { case, cache, answered_ms, read_ms, loaded_ms, bytes_each, maps, idle_percent } in &self.start {
            let or = |text: Option<String>| text.unwrap_or_else(|| "-".into());
            let bytes = or(bytes_each.map(|bytes| format!("{bytes:.0}")));
            let (maps, idle) = (or(maps.map(|maps| maps.to_string())), or(idle_percent.map(|percent| format!("{percent:.2} %"))));
            writeln!(
                f,
                "{case:20} {cache:>6} {answered_ms:>9.1} ms {read_ms:>9.1} ms {loaded_ms:>9.0} ms {bytes:>12} {maps:>7} {idle:>9}"
            )?;
        }
        for Stormed { listeners, items, announced_per_second, told_per_second, processors, bytes_before, bytes_peak } in &self.storm {
            writeln!(
                f,
                "{announced_per_second:.0} announcements/s of {items} resources, {listeners} listeners: {told_per_second:.0} told/s, {:.2} processors, {} MiB of memory before, {} at the most",
                processors.unwrap_or(f64::NAN),
                bytes_before >> 20,
                bytes_peak >> 20,
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_quantiles_are_those_of_the_sorted_values() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(Vec::new()).is_nan() && quantile(&[], 0.5).is_nan());
        let sorted: Vec<u32> = (1..=100).map(|n| n * 1000).collect();
        assert_eq!((quantile(&sorted, 0.5), quantile(&sorted, 0.99), quantile(&sorted, 1.0)), (51.0, 100.0, 100.0));
    }

    #[test]
    fn the_build_s_share_is_that_of_each_save() {
        let ms = |times: &[u64]| times.iter().map(|ms| Duration::from_millis(*ms)).collect::<Vec<_>>();
        let saves = Reloaded::new("c", ms(&[100, 200, 400]), None, Some(ms(&[50, 150, 100])));
        assert_eq!((saves.p50_ms, saves.build_p50_ms, saves.build_share), (200.0, Some(100.0), Some(0.5)));
        let swaps = Reloaded::new("c", ms(&[1]), Some(ms(&[2])), None);
        assert_eq!((swaps.list_p99_ms, swaps.build_share), (Some(2.0), None));
    }

    #[test]
    fn the_ratio_of_reads_beside_a_compilation_is_that_of_the_p99s() {
        let beside = Beside::new(1, [("alone", vec![1000, 2000]), ("besides", vec![3000, 5000])], &[]);
        assert_eq!(beside.loads[1].ratio, 2.5);
    }

    #[test]
    fn the_ratio_compares_round_with_round() {
        let measured = Measured::new("c", "modern", 1, "s", &[50.0, 100.0, 25.0], Vec::new(), None, &[100.0, 100.0, 100.0]);
        assert_eq!((measured.ratio, measured.requests_per_second), (2.0, 50.0));
    }
}
