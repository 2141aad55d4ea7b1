//! Random transactions, side by side, against a plain model of what they should see and which of them may commit.

use std::collections::{BTreeMap, BTreeSet};

use lakelock_ducklake::{ErrorKind, Filter, Lake, RowId, TableId, Transaction};
use lakelock_storage::Storage;
use proptest::prelude::*;

use crate::support::{File, Meets, TABLE_ID, all, create, insert, scan, writing};

/// How many transactions are under way at most.
const SIDES: usize = 3;

#[derive(Clone, Debug)]
enum Step {
    Begin(usize),
    Insert(usize, File),
    /// Of the row of this number in order, as the transaction sees them.
    Update(usize, prop::sample::Index, File),
    Delete(usize, prop::sample::Index),
    Check(usize, i64, i64),
    Commit(usize),
    Rollback(usize),
    Reopen,
}

fn file() -> impl Strategy<Value = File> {
    let end = prop::option::weighted(0.4, -1..4i64);
    (0..12i64, 0..3i64, end, "[a-c]{0,3}").prop_map(|(id, table, end, path)| File::new(id, table, end, &path))
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        4 => (0..SIDES).prop_map(Step::Begin),
        6 => (0..SIDES, file()).prop_map(|(side, file)| Step::Insert(side, file)),
        4 => (0..SIDES, index(), file()).prop_map(|(side, row, file)| Step::Update(side, row, file)),
        2 => (0..SIDES, index()).prop_map(|(side, row)| Step::Delete(side, row)),
        3 => (0..SIDES, 0..3i64, -2..4i64).prop_map(|(side, table, snapshot)| Step::Check(side, table, snapshot)),
        4 => (0..SIDES).prop_map(Step::Commit),
        1 => (0..SIDES).prop_map(Step::Rollback),
        1 => Just(Step::Reopen),
    ]
}

/// The rows by their numbers, each with the number of the commit that wrote it last.
type Rows = BTreeMap<RowId, (File, usize)>;

#[derive(Default)]
struct Model {
    rows: Rows,
    commits: usize,
    /// The commits that gave each primary key to a row.
    given: Vec<(usize, i64)>,
}

/// A transaction, and what it should see.
struct Side {
    transaction: Transaction,
    rows: Rows,
    began: usize,
    /// Rows of before that it has changed or deleted.
    changed: BTreeSet<RowId>,
    /// Rows that it has put.
    put: BTreeSet<RowId>,
}

impl Model {
    /// Whether the transaction may commit; nothing, if either will do.
    fn may_commit(&self, side: &Side) -> Option<bool> {
        let newer = |id: &RowId| self.rows.get(id).is_none_or(|(_, commit)| *commit > side.began);
        if side.changed.iter().any(newer) {
            return Some(false);
        }
        let mut unsure = false;
        for id in &side.put {
            let Some((file, _)) = side.rows.get(id) else { continue };
            let taken = |(other, (stored, _)): (&RowId, &(File, usize))| {
                stored.id == file.id && other != id && !side.changed.contains(other)
            };
            if self.rows.iter().any(taken) {
                return Some(false);
            }
            unsure |= self.given.iter().any(|(commit, key)| *commit > side.began && *key == file.id);
        }
        (!unsure).then_some(true)
    }

    /// Whether another transaction has changed a row, or is going to, so that the one at `at` need not get to.
    fn has_rival(&self, sides: &[Option<Side>; SIDES], at: usize, id: RowId) -> bool {
        let mut others = sides.iter().enumerate().filter(|(other, _)| *other != at);
        let began = sides[at].as_ref().map_or(0, |side| side.began);
        others.any(|(_, side)| side.as_ref().is_some_and(|side| side.changed.contains(&id)))
            || self.rows.get(&id).is_none_or(|(_, commit)| *commit > began)
    }

    fn commit(&mut self, side: &Side) {
        self.commits += 1;
        for id in &side.changed {
            self.rows.remove(id);
        }
        for id in &side.put {
            if let Some((file, _)) = side.rows.get(id) {
                self.rows.insert(*id, (file.clone(), self.commits));
                self.given.push((self.commits, file.id));
            }
        }
    }
}

impl Side {
    fn pick(&self, index: prop::sample::Index) -> Option<RowId> {
        (!self.rows.is_empty()).then(|| *self.rows.keys().nth(index.index(self.rows.len())).unwrap())
    }

    /// Notes that a row is no longer as it was.
    fn touch(&mut self, id: RowId) {
        if !self.put.contains(&id) {
            self.changed.insert(id);
        }
    }
}

async fn run(steps: Vec<Step>) {
    let storage = Storage::in_memory();
    let open = || Lake::open(&storage, "memory://lake", writing());
    let mut lake = open().await.unwrap();
    let table = create(&lake, "files").await;
    let mut model = Model::default();
    let mut sides: [Option<Side>; SIDES] = Default::default();
    for step in steps {
        match step {
            Step::Begin(at) => {
                sides[at] = Some(Side {
                    transaction: lake.begin().await.unwrap(),
                    rows: model.rows.clone(),
                    began: model.commits,
                    changed: BTreeSet::new(),
                    put: BTreeSet::new(),
                });
            }
            Step::Rollback(at) => sides[at] = None,
            Step::Reopen => {
                sides = Default::default();
                lake.close().await.unwrap();
                lake = open().await.unwrap();
                let transaction = lake.begin().await.unwrap();
                let mut expected: Vec<_> = model.rows.values().map(|(file, _)| file.clone()).collect();
                expected.sort();
                assert_eq!(all(&transaction, table).await, expected);
            }
            Step::Insert(at, file) => {
                let Some(side) = &mut sides[at] else { continue };
                let taken = side.rows.values().any(|(other, _)| other.id == file.id);
                match insert(&mut side.transaction, table, &file).await {
                    Ok(id) => {
                        assert!(!taken, "{file:?}");
                        side.rows.insert(id, (file, 0));
                        side.put.insert(id);
                    }
                    Err(error) => assert!(taken && error.kind() == ErrorKind::Constraint, "{error}"),
                }
            }
            Step::Update(at, index, file) => {
                let Some(id) = sides[at].as_ref().and_then(|side| side.pick(index)) else { continue };
                let rival = model.has_rival(&sides, at, id);
                let Some(side) = &mut sides[at] else { continue };
                let taken = side.rows.iter().any(|(other, (row, _))| *other != id && row.id == file.id);
                match side.transaction.update(table, vec![(id, file.encode())]).await {
                    Ok(count) => {
                        assert!(!taken && count == 1, "{file:?}");
                        side.touch(id);
                        side.rows.insert(id, (file, 0));
                        side.put.insert(id);
                    }
                    Err(error) if error.kind() == ErrorKind::Conflict => assert!(rival, "{error}"),
                    Err(error) => assert!(taken && error.kind() == ErrorKind::Constraint, "{error}"),
                }
            }
            Step::Delete(at, index) => {
                let Some(id) = sides[at].as_ref().and_then(|side| side.pick(index)) else { continue };
                let rival = model.has_rival(&sides, at, id);
                let Some(side) = &mut sides[at] else { continue };
                match side.transaction.delete(table, vec![id]).await {
                    Ok(count) => {
                        assert_eq!(count, 1);
                        side.touch(id);
                        side.rows.remove(&id);
                        side.put.remove(&id);
                    }
                    Err(error) => assert!(rival && error.kind() == ErrorKind::Conflict, "{error}"),
                }
            }
            Step::Check(at, cluster, snapshot) => {
                let Some(side) = &sides[at] else { continue };
                check(side, table, cluster, snapshot).await;
            }
            Step::Commit(at) => {
                let Some(mut side) = sides[at].take() else { continue };
                let may = model.may_commit(&side);
                let transaction = std::mem::replace(&mut side.transaction, lake.begin().await.unwrap());
                match transaction.commit().await {
                    Ok(()) => {
                        assert_ne!(may, Some(false));
                        model.commit(&side);
                    }
                    Err(error) => {
                        assert!(may != Some(true) && error.kind() == ErrorKind::Conflict, "{error}");
                    }
                }
            }
        }
    }
}

async fn check(side: &Side, table: TableId, cluster: i64, snapshot: i64) {
    let of_cluster = Filter::Equal { column: TABLE_ID, value: cluster };
    let alive = |file: &File| file.end.is_none_or(|end| end > snapshot);
    let cases: [(&[Filter], Meets<'_>); 3] = [
        (&[], &|_| true),
        (&[Filter::LiveAt { snapshot }], &alive),
        (&[of_cluster, Filter::LiveAt { snapshot }], &|file| file.table == cluster && alive(file)),
    ];
    for (filters, meets) in cases {
        let found: BTreeMap<_, _> = scan(&side.transaction, table, filters).await.into_iter().collect();
        let meeting = side.rows.iter().filter(|(_, (file, _))| meets(file));
        let expected: BTreeMap<_, _> = meeting.map(|(id, (file, _))| (*id, file.clone())).collect();
        assert_eq!(found, expected, "{filters:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn transactions_do_what_the_model_does(steps in prop::collection::vec(step(), 1..80)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(run(steps));
    }
}
