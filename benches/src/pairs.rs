//! Two of a kind, measured in turns.

use std::time::{Duration, Instant};

use crate::Result;

/// What something took.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// From its start to its end.
    pub time: Duration,
    /// Of all threads of the process, in steps of 10 ms: what other processes do matters little to it.
    pub cpu: Duration,
}

/// Measures from its start on.
#[derive(Debug)]
pub struct Watch {
    start: Instant,
    cpu: Duration,
}

impl Watch {
    /// Starts.
    #[must_use]
    pub fn start() -> Self {
        let cpu = cpu_time();
        Self { start: Instant::now(), cpu }
    }

    /// Stops.
    #[must_use]
    pub fn stop(self) -> Cost {
        self.so_far()
    }

    /// What it took until now.
    #[must_use]
    pub fn so_far(&self) -> Cost {
        let time = self.start.elapsed();
        Cost { time, cpu: cpu_time().saturating_sub(self.cpu) }
    }
}

/// What a comparison of a contender with a baseline found.
#[derive(Debug)]
pub struct Comparison {
    /// The shortest time of the baseline.
    pub baseline: Duration,
    /// The shortest time of the contender.
    pub contender: Duration,
    /// The contender's shortest time as a multiple of the baseline's: whatever disturbs a round makes it longer.
    pub ratio: f64,
    /// The median over all pairs of the contender's time as a multiple of the baseline's.
    pub median_ratio: f64,
    /// The same of the CPU time of all rounds together.
    pub cpu_ratio: f64,
}

/// Runs both in turns, changing who is first, `rounds` times. A first round to warm up does not count.
///
/// # Errors
/// The first one of either.
pub async fn compare(
    rounds: usize,
    mut baseline: impl AsyncFnMut() -> Result<Cost>,
    mut contender: impl AsyncFnMut() -> Result<Cost>,
) -> Result<Comparison> {
    let mut pairs = Vec::with_capacity(rounds);
    for round in 0..=rounds {
        let pair = if round % 2 == 0 {
            let first = baseline().await?;
            (first, contender().await?)
        } else {
            let first = contender().await?;
            (baseline().await?, first)
        };
        if round > 0 {
            pairs.push(pair);
        }
    }
    let cpu = |cost: fn(&(Cost, Cost)) -> Cost| pairs.iter().map(|pair| cost(pair).cpu.as_secs_f64()).sum::<f64>();
    let shortest = |cost: fn(&(Cost, Cost)) -> Cost| pairs.iter().map(|pair| cost(pair).time).min().unwrap_or_default();
    let (baseline, contender) = (shortest(|pair| pair.0), shortest(|pair| pair.1));
    Ok(Comparison {
        baseline,
        contender,
        ratio: contender.as_secs_f64() / baseline.as_secs_f64(),
        median_ratio: middle(pairs.iter().map(|(b, c)| c.time.as_secs_f64() / b.time.as_secs_f64())),
        cpu_ratio: cpu(|pair| pair.1) / cpu(|pair| pair.0),
    })
}

/// The median, or of an even number the higher of the two in the middle.
#[must_use]
pub fn median(times: impl IntoIterator<Item = Duration>) -> Duration {
    let mut times: Vec<_> = times.into_iter().collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn middle(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.into_iter().collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// User and system time of the process, as Linux shows it; zero elsewhere.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in parentheses, may have blanks. After it come the fields from the third on.
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok());
    Duration::from_millis(10 * ticks.sum::<u64>())
}
