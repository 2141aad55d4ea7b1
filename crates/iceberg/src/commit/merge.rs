//! Merging manifests on commit, so that a table of many small appends keeps few manifests: what Java's merge does.

use std::collections::BTreeMap;

use super::ManifestProperties;
use crate::manifest::{ManifestContent, ManifestFile};

/// A manifest that a commit may keep as it is or merge into another. `weight` is its stored length.
#[derive(Debug)]
pub(super) struct Candidate<N> {
    pub(super) manifest: Source<N>,
    pub(super) spec_id: i32,
    pub(super) weight: u64,
}

/// Where a candidate comes from.
#[derive(Debug)]
pub(super) enum Source<N> {
    /// The snapshot before this one.
    Existing(ManifestFile),
    /// This commit, not written yet.
    New(N),
}

/// What becomes of candidates.
#[derive(Debug)]
pub(super) enum Outcome<N> {
    /// Listed as it is.
    Keep(Source<N>),
    /// Merged into one manifest of this spec.
    Merge(i32, Vec<Source<N>>),
}

/// Decides for candidates of one content, newest first, and keeps their order.
///
/// They are taken by spec, latest spec first, and packed from the oldest on into bins of the target size, each closed
/// by the first manifest that does not fit: so the bin with the newest is the one that stays under-filled and is
/// merged again next time. A bin of several is merged, but the one with the very first candidate only from
/// `min_count_to_merge` on. `mergeable` says of which specs manifests can be rewritten at all.
pub(super) fn plan<N>(
    candidates: Vec<Candidate<N>>,
    properties: &ManifestProperties,
    mergeable: impl Fn(i32) -> bool,
) -> Vec<Outcome<N>> {
    if !properties.merge {
        return candidates.into_iter().map(|c| Outcome::Keep(c.manifest)).collect();
    }
    let first_spec = candidates.first().map(|c| c.spec_id);
    let mut by_spec: BTreeMap<i32, Vec<Candidate<N>>> = BTreeMap::new();
    for candidate in candidates {
        by_spec.entry(candidate.spec_id).or_default().push(candidate);
    }
    let mut outcomes = Vec::new();
    for (spec_id, group) in by_spec.into_iter().rev() {
        for (i, bin) in pack_from_the_end(group, properties.target_size).into_iter().enumerate() {
            let has_first = i == 0 && Some(spec_id) == first_spec;
            let too_few = bin.len() == 1 || has_first && (bin.len() as u64) < properties.min_count_to_merge;
            let sources = bin.into_iter().map(|c| c.manifest);
            if too_few || !mergeable(spec_id) {
                outcomes.extend(sources.map(Outcome::Keep));
            } else {
                outcomes.push(Outcome::Merge(spec_id, sources.collect()));
            }
        }
    }
    outcomes
}

/// Bins in the order of the candidates, filled from the last one on.
fn pack_from_the_end<N>(candidates: Vec<Candidate<N>>, target: u64) -> Vec<Vec<Candidate<N>>> {
    let mut bins: Vec<Vec<Candidate<N>>> = Vec::new();
    let mut weight = 0u64;
    for candidate in candidates.into_iter().rev() {
        match bins.last_mut() {
            Some(bin) if weight.saturating_add(candidate.weight) <= target => {
                weight += candidate.weight;
                bin.push(candidate);
            }
            _ => {
                weight = candidate.weight;
                bins.push(vec![candidate]);
            }
        }
    }
    for bin in &mut bins {
        bin.reverse();
    }
    bins.reverse();
    bins
}

/// Whether a snapshot still needs a manifest of its parent: one without live files says nothing about the table.
pub(super) fn has_live_files(manifest: &ManifestFile) -> bool {
    let some = |count: Option<u32>| count.is_none_or(|n| n > 0);
    some(manifest.added_files_count) || some(manifest.existing_files_count)
}

/// Data manifests and delete manifests, each in the list's order.
pub(super) fn by_content(manifests: Vec<ManifestFile>) -> (Vec<ManifestFile>, Vec<ManifestFile>) {
    manifests.into_iter().partition(|m| m.content == ManifestContent::Data)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Candidates as (spec, weight), named by position; outcomes as lists of names, a merge with its spec.
    fn planned(candidates: &[(i32, u64)], min_count_to_merge: u64) -> Vec<(Option<i32>, Vec<usize>)> {
        let properties = ManifestProperties {
            min_count_to_merge,
            target_size: 100,
            ..ManifestProperties::from_properties(&HashMap::new()).unwrap()
        };
        let candidates = candidates.iter().enumerate().map(|(i, &(spec_id, weight))| Candidate {
            manifest: Source::New(i),
            spec_id,
            weight,
        });
        let name = |source| match source {
            Source::New(i) => i,
            Source::Existing(_) => usize::MAX,
        };
        plan(candidates.collect(), &properties, |spec| spec != 9)
            .into_iter()
            .map(|outcome| match outcome {
                Outcome::Keep(source) => (None, vec![name(source)]),
                Outcome::Merge(spec, sources) => (Some(spec), sources.into_iter().map(name).collect()),
            })
            .collect()
    }

    #[test]
    fn bins_fill_from_the_oldest_and_only_the_newest_waits() {
        let keep = |i| (None, vec![i]);
        assert!(planned(&[], 2).is_empty());
        // Too few for the bin with the newest.
        assert_eq!(planned(&[(0, 10), (0, 10)], 3), [keep(0), keep(1)]);
        assert_eq!(planned(&[(0, 10), (0, 10), (0, 10)], 3), [(Some(0), vec![0, 1, 2])]);
        // Older bins are merged whatever their number; one that is full alone is left.
        assert_eq!(planned(&[(0, 10), (0, 50), (0, 50)], 100), [keep(0), (Some(0), vec![1, 2])]);
        assert_eq!(planned(&[(0, 10), (0, 200), (0, 50), (0, 50)], 2), [keep(0), keep(1), (Some(0), vec![2, 3])]);
        // By spec, latest first; only the spec of the newest manifest waits.
        assert_eq!(
            planned(&[(1, 10), (0, 10), (2, 10), (1, 10), (0, 10)], 3),
            [keep(2), keep(0), keep(3), (Some(0), vec![1, 4])]
        );
        // A spec that cannot be rewritten.
        assert_eq!(planned(&[(9, 10), (9, 10)], 2), [keep(0), keep(1)]);
    }
}
