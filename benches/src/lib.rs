//! How Lakelock's benchmarks measure.
//!
//! What is compared is measured in turns, round by round, so that a change of the machine's mood meets all alike; of
//! each the fastest round counts, as every disturbance only makes a round slower. Ratios of one run can be compared with ratios of
//! another, times cannot.

mod fixture;
mod lineitem;
mod options;
mod pairs;

use std::time::{Duration, Instant};

pub use fixture::{Fixture, MASTER_KEY, MASTER_KEY_ID};
pub use lineitem::{SCHEMA as LINEITEM, rows as lineitem_rows};
pub use options::Options;
pub use pairs::{Comparison, Cost, Watch, compare, median};

/// A benchmark ends at the first error.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// One of the things to compare: what is done before each round without being measured, and what is.
pub struct Contender<'a, S> {
    name: &'static str,
    prepare: Box<dyn FnMut(&mut S) + 'a>,
    run: Box<dyn FnMut(&mut S) + 'a>,
}

impl<'a, S> Contender<'a, S> {
    /// Measures `run`.
    pub fn new(name: &'static str, run: impl FnMut(&mut S) + 'a) -> Self {
        Self { name, prepare: Box::new(|_| ()), run: Box::new(run) }
    }

    /// Puts the state in order before each round.
    #[must_use]
    pub fn after(self, prepare: impl FnMut(&mut S) + 'a) -> Self {
        Self { prepare: Box::new(prepare), ..self }
    }
}

/// The fastest of `rounds` rounds of each contender, in their order. A first round to warm up does not count.
pub fn fastest<'a, S: 'a>(
    state: &mut S,
    rounds: usize,
    contenders: impl IntoIterator<Item = Contender<'a, S>>,
) -> Vec<(&'static str, Duration)> {
    let mut contenders: Vec<_> = contenders.into_iter().map(|contender| (contender, Duration::MAX)).collect();
    for round in 0..=rounds {
        for (contender, best) in &mut contenders {
            (contender.prepare)(state);
            let start = Instant::now();
            (contender.run)(state);
            let time = start.elapsed();
            if round > 0 {
                *best = time.min(*best);
            }
        }
    }
    contenders.into_iter().map(|(contender, best)| (contender.name, best)).collect()
}

/// 10^9 bytes a second.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub fn gigabytes_per_second(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64() / 1e9
}

/// The processor as the system names it, and how many there are.
#[must_use]
pub fn processor() -> String {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| info.lines().find(|line| line.starts_with(name)).and_then(|line| line.split_once(": "));
    let model = field("model name").map_or("unknown", |(_, model)| model);
    let flags = field("flags").map_or("", |(_, flags)| flags);
    let wanted: Vec<_> = ["aes", "vaes", "avx2", "avx512f"]
        .into_iter()
        .filter(|wanted| flags.split(' ').any(|flag| flag == *wanted))
        .collect();
    format!("{model} ({}), {cpus} CPUs", wanted.join(" "))
}
