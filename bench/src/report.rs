//! What was measured, as a table for people and as JSON.

use std::fmt;

use serde::Serialize;

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

#[derive(Default, Serialize)]
pub struct Table {
    speed: Vec<Measured>,
    memory: Vec<Weighed>,
}

impl Table {
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

    pub fn join(&mut self, other: Self) {
        self.speed.extend(other.speed);
        self.memory.extend(other.memory);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
    fn the_ratio_compares_round_with_round() {
        let measured = Measured::new("c", "modern", 1, "s", &[50.0, 100.0, 25.0], Vec::new(), None, &[100.0, 100.0, 100.0]);
        assert_eq!((measured.ratio, measured.requests_per_second), (2.0, 50.0));
    }
}
