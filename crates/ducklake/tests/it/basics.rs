//! Tables, rows, filters and what two transactions may do to each other.

use lakelock_ducklake::{Alteration, ColumnDef, ErrorKind, Filter, Lake, NewTable, OpenOptions};
use lakelock_storage::Storage;

use crate::support::{
    END, File, Meets, TABLE_ID, Value, all, assert_fails, create, files, in_memory, insert, reading, row, scan, writing,
};

#[tokio::test]
async fn tables_and_schemas_come_and_go() {
    let lake = in_memory().await;
    let mut transaction = lake.begin().await.unwrap();
    assert_eq!(transaction.schemas(), ["main"]);
    assert!(transaction.create_schema("Other", false).unwrap());
    assert!(!transaction.create_schema("OTHER", true).unwrap());
    assert_fails(transaction.create_schema("other", false), ErrorKind::AlreadyExists, &["\"other\""]);
    assert!(transaction.create_table(NewTable { schema: "other".to_owned(), ..files("Files") }, false).unwrap());
    assert!(!transaction.create_table(NewTable { schema: "OTHER".to_owned(), ..files("fILES") }, true).unwrap());
    assert_fails(
        transaction.create_table(NewTable { schema: "none".to_owned(), ..files("t") }, true),
        ErrorKind::NotFound,
        &["\"none\""],
    );
    assert_fails(transaction.drop_schema("other", false), ErrorKind::InvalidInput, &["Other"]);
    assert_fails(transaction.drop_schema("main", false), ErrorKind::InvalidInput, &["main"]);
    transaction.commit().await.unwrap();

    let mut transaction = lake.begin().await.unwrap();
    let table = transaction.table("OTHER", "files").unwrap();
    assert_eq!((table.schema(), table.name(), table.primary_key()), ("Other", "Files", &[0][..]));
    assert_eq!((table.cluster_column(), table.end_snapshot_column()), (Some(TABLE_ID), Some(END)));
    insert(&mut transaction, table.id(), &File::new(1, 1, None, "a")).await.unwrap();
    transaction.alter_table("other", "files", Alteration::AddColumn(ColumnDef::new("note", "VARCHAR"))).unwrap();
    transaction.alter_table("other", "files", Alteration::RenameTable("renamed".to_owned())).unwrap();
    transaction.commit().await.unwrap();

    let mut transaction = lake.begin().await.unwrap();
    assert!(transaction.table("other", "files").is_none());
    let table = transaction.table("other", "renamed").unwrap();
    assert_eq!(table.columns().len(), 5);
    // A row is as it was written: what it ends before is NULL.
    assert_eq!(all(&transaction, table.id()).await, [File::new(1, 1, None, "a")]);
    assert!(transaction.drop_table("other", "renamed", false).unwrap());
    assert!(!transaction.drop_table("other", "renamed", true).unwrap());
    assert_fails(transaction.drop_table("other", "renamed", false), ErrorKind::NotFound, &["other.renamed"]);
    assert!(transaction.drop_schema("other", false).unwrap());
    assert_fails(transaction.scan(table.id(), &[]).map(drop), ErrorKind::NotFound, &[]);
    transaction.commit().await.unwrap();
    assert_eq!(lake.begin().await.unwrap().schemas(), ["main"]);

    lake.collect_garbage(None).await.unwrap();
    lake.close().await.unwrap();
}

#[tokio::test]
async fn definitions_that_cannot_be_are_refused() {
    let lake = in_memory().await;
    let mut transaction = lake.begin().await.unwrap();
    let columns = |columns: &[(&str, &str)]| columns.iter().map(|(n, t)| ColumnDef::new(*n, *t)).collect::<Vec<_>>();
    let cases = [
        ("no columns", columns(&[]), vec![]),
        ("two columns", columns(&[("a", "INTEGER"), ("A", "VARCHAR")]), vec![]),
        ("does not have", columns(&[("a", "INTEGER")]), vec![1]),
        ("its key cannot be read", columns(&[("a", "MYSTERY"), ("b", "BIGINT")]), vec![1]),
    ];
    for (words, columns, primary_key) in cases {
        let new = NewTable { schema: "main".to_owned(), name: "t".to_owned(), columns, primary_key };
        assert_fails(transaction.create_table(new, false), ErrorKind::InvalidInput, &["main.t", words]);
    }
    // Only what is behind an unknown type cannot be found.
    let new = NewTable {
        schema: "main".to_owned(),
        name: "t".to_owned(),
        columns: columns(&[("table_id", "BIGINT"), ("a", "MYSTERY"), ("end_snapshot", "BIGINT")]),
        primary_key: vec![0],
    };
    assert!(transaction.create_table(new, false).unwrap());
    let table = transaction.table("main", "t").unwrap();
    assert_eq!((table.cluster_column(), table.end_snapshot_column()), (Some(0), None));
}

#[tokio::test]
async fn a_transaction_sees_itself_and_nothing_later() {
    let lake = in_memory().await;
    let table = create(&lake, "files").await;
    let mut first = lake.begin().await.unwrap();
    let kept = insert(&mut first, table, &File::new(1, 7, None, "a")).await.unwrap();
    let gone = insert(&mut first, table, &File::new(2, 7, None, "b")).await.unwrap();
    assert_eq!(all(&first, table).await.len(), 2);
    assert_eq!(first.delete(table, vec![gone, gone]).await.unwrap(), 1);
    let running = first.scan(table, &[]).unwrap();
    let ended = File::new(1, 7, Some(3), "a");
    assert_eq!(first.update(table, vec![(kept, ended.encode()), (gone, ended.encode())]).await.unwrap(), 1);
    assert_eq!(File::decode(&running.collect().await.unwrap()[0].1).end, None, "a scan is of when it began");

    let second = lake.begin().await.unwrap();
    assert_eq!(all(&second, table).await, []);
    first.commit().await.unwrap();
    assert_eq!(all(&second, table).await, []);
    assert_eq!(scan(&lake.begin().await.unwrap(), table, &[]).await, [(kept, ended)]);
}

#[tokio::test]
async fn filters_keep_every_row_that_meets_them() {
    let lake = in_memory().await;
    let table = create(&lake, "files").await;
    let mut rows: Vec<File> = Vec::new();
    for id in 0..600 {
        let end = (id % 3 != 0).then_some(id / 3 % 20);
        rows.push(File::new(id, id % 100 - 50, end, "p"));
    }
    rows.push(File::new(1000, i64::MIN, Some(i64::MAX), "p"));
    rows.push(File::new(1001, i64::MAX, Some(i64::MIN), "p"));
    // Half of them are stored, the others are the transaction's own.
    let (stored, own) = rows.split_at(300);
    let mut transaction = lake.begin().await.unwrap();
    transaction.insert(table, stored.iter().map(File::encode).collect()).await.unwrap();
    transaction.commit().await.unwrap();
    let mut transaction = lake.begin().await.unwrap();
    transaction.insert(table, own.iter().map(File::encode).collect()).await.unwrap();

    let in_table = |values: &[i64]| Filter::In { column: TABLE_ID, values: values.to_vec() };
    let many: Vec<i64> = (-50..50).collect();
    let cases: [(&[Filter], Meets<'_>); 12] = [
        (&[], &|_| true),
        (&[Filter::Live], &|file| file.end.is_none()),
        (&[Filter::LiveAt { snapshot: 7 }], &|file| file.end.is_none_or(|end| end > 7)),
        (&[Filter::LiveAt { snapshot: i64::MAX }], &|file| file.end.is_none()),
        (&[Filter::Equal { column: TABLE_ID, value: -3 }], &|file| file.table == -3),
        (&[Filter::Equal { column: TABLE_ID, value: i64::MAX }], &|file| file.table == i64::MAX),
        (&[Filter::Equal { column: TABLE_ID, value: 3 }, Filter::LiveAt { snapshot: 5 }], &|file| {
            file.table == 3 && file.end.is_none_or(|end| end > 5)
        }),
        (&[in_table(&[9, 4, 9, 5000])], &|file| file.table == 4 || file.table == 9),
        (&[in_table(&many)], &|file| (-50..50).contains(&file.table)),
        (&[Filter::Between { column: TABLE_ID, values: -2..=i64::MAX }, in_table(&[-9, 1])], &|file| file.table == 1),
        (&[Filter::Between { column: END, values: 3..=8 }], &|file| file.end.is_some_and(|end| (3..=8).contains(&end))),
        (&[Filter::Equal { column: TABLE_ID, value: 1 }, Filter::Equal { column: TABLE_ID, value: 2 }], &|_| false),
    ];
    for (filters, meets) in cases {
        let expected: Vec<_> = rows.iter().filter(|file| meets(file)).cloned().collect();
        let mut found: Vec<_> = scan(&transaction, table, filters).await.into_iter().map(|(_, file)| file).collect();
        found.sort();
        // These columns are the ones that rows are kept together by: nothing else comes along.
        assert_eq!(found, expected, "{filters:?}");
    }
    // Others may bring more.
    let found = scan(&transaction, table, &[Filter::Equal { column: 0, value: 5 }]).await;
    assert!(found.iter().any(|(_, file)| file.id == 5));
}

#[tokio::test]
async fn the_bounds_of_clusters_hold_every_row() {
    let lake = in_memory().await;
    let mut transaction = lake.begin().await.unwrap();
    let columns = vec![ColumnDef::new("snapshot_id", "BIGINT")];
    let new = NewTable { schema: "main".to_owned(), name: "t".to_owned(), columns, primary_key: vec![0] };
    transaction.create_table(new, false).unwrap();
    let table = transaction.table("main", "t").unwrap().id();
    assert_eq!(transaction.cluster_bounds(table).await.unwrap(), None);
    let mut bounds = 7..=7;
    for number in [7, i64::MIN, 300, -1, i64::MAX] {
        bounds = number.min(*bounds.start())..=number.max(*bounds.end());
        let id = transaction.insert(table, vec![row(&[Value::Int(number)])]).await.unwrap();
        assert_eq!(transaction.cluster_bounds(table).await.unwrap(), Some(bounds.clone()));
        transaction.commit().await.unwrap();
        transaction = lake.begin().await.unwrap();
        assert_eq!(transaction.cluster_bounds(table).await.unwrap(), Some(bounds.clone()));
        assert_eq!(id.len(), 1);
    }
    // Where there are rows of the past it is not known at once.
    let files = create(&lake, "files").await;
    assert_eq!(lake.begin().await.unwrap().cluster_bounds(files).await.unwrap(), None);
}

#[tokio::test]
async fn primary_keys_are_taken_once() {
    let lake = in_memory().await;
    let table = create(&lake, "files").await;
    let file = |id| File::new(id, 1, None, "p");
    let mut transaction = lake.begin().await.unwrap();
    let stored: Vec<_> = (0..40).map(|id| file(id * 2).encode()).collect();
    let ids = transaction.insert(table, stored).await.unwrap();
    assert_fails(insert(&mut transaction, table, &file(4)).await, ErrorKind::Constraint, &["primary key (id)"]);
    transaction.commit().await.unwrap();

    let mut transaction = lake.begin().await.unwrap();
    let odd = |from: i64| (0..20).map(|n| file(from + n * 2).encode()).collect::<Vec<_>>();
    assert_fails(insert(&mut transaction, table, &file(4)).await, ErrorKind::Constraint, &["main.files"]);
    assert_fails(
        transaction.insert(table, [odd(1), vec![file(8).encode()]].concat()).await,
        ErrorKind::Constraint,
        &[],
    );
    let twice = vec![file(1).encode(), file(1).encode()];
    assert_fails(transaction.insert(table, twice).await, ErrorKind::Constraint, &[]);
    transaction.insert(table, odd(1)).await.unwrap();
    let without = row(&[Value::Null, Value::Int(1), Value::Null, Value::Text("p")]);
    assert_fails(transaction.insert(table, vec![without]).await, ErrorKind::Constraint, &["\"id\""]);

    // A key goes from row to row, within one statement and by deletion.
    let swapped = vec![(ids[1], file(4).encode()), (ids[2], file(2).encode())];
    assert_eq!(transaction.update(table, swapped).await.unwrap(), 2);
    let taken = transaction.update(table, vec![(ids[1], file(6).encode())]).await;
    assert_fails(taken, ErrorKind::Constraint, &[]);
    assert_eq!(transaction.delete(table, vec![ids[3]]).await.unwrap(), 1);
    insert(&mut transaction, table, &file(6)).await.unwrap();
    let expected = all(&transaction, table).await;
    assert_eq!(expected.len(), 60);
    transaction.commit().await.unwrap();
    let transaction = lake.begin().await.unwrap();
    assert_eq!(all(&transaction, table).await, expected);
    let moved = scan(&transaction, table, &[]).await.into_iter().find(|(id, _)| *id == ids[1]).unwrap();
    assert_eq!(moved.1.id, 4);
}

#[tokio::test]
async fn tables_say_how_many_rows_they_have() {
    let storage = Storage::in_memory();
    let lake = Lake::open(&storage, "memory://lake", writing()).await.unwrap();
    let table = create(&lake, "files").await;
    let mut transaction = lake.begin().await.unwrap();
    assert_eq!(transaction.row_count(table), Some(0));
    let first = insert(&mut transaction, table, &File::new(1, 1, None, "p")).await.unwrap();
    let other = insert(&mut transaction, table, &File::new(2, 1, Some(5), "p")).await.unwrap();
    assert_eq!(transaction.row_count(table), Some(2));
    transaction.commit().await.unwrap();

    let before = lake.begin().await.unwrap();
    let mut transaction = lake.begin().await.unwrap();
    insert(&mut transaction, table, &File::new(3, 1, None, "p")).await.unwrap();
    transaction.update(table, vec![(first, File::new(1, 1, Some(6), "q").encode())]).await.unwrap();
    transaction.delete(table, vec![other]).await.unwrap();
    transaction.delete(table, vec![first]).await.unwrap();
    assert_eq!(transaction.row_count(table), Some(1));
    transaction.commit().await.unwrap();
    assert_eq!(before.row_count(table), Some(2));
    drop(before);
    lake.close().await.unwrap();

    // Whoever opens it is told so, too.
    let reader = Lake::open(&storage, "memory://lake", reading()).await.unwrap().begin().await.unwrap();
    assert_eq!(reader.row_count(table), Some(1));
    assert_eq!(all(&reader, table).await.len(), 1);
}

#[derive(Clone, Copy, Debug)]
enum Does {
    Insert(i64),
    Update,
    Delete,
    Create,
    CreateIfNot,
    Drop,
    Alter,
    Schema,
    Nothing,
}

#[tokio::test]
async fn transactions_that_cannot_both_be_conflict() {
    use Does::{Alter, Create, CreateIfNot, Delete, Drop, Insert, Nothing, Schema, Update};
    let file = |id| File::new(id, 1, None, "p");
    let cases = [
        (Insert(5), Insert(5), true),
        (Insert(5), Insert(6), false),
        (Update, Update, true),
        (Update, Delete, true),
        (Delete, Update, true),
        (Delete, Delete, true),
        (Update, Insert(6), false),
        (Create, Create, true),
        (Create, CreateIfNot, true),
        (Drop, Insert(5), true),
        (Insert(5), Drop, true),
        (Drop, Drop, true),
        (Alter, Insert(5), true),
        (Alter, Create, false),
        (Schema, Schema, true),
        (Nothing, Update, false),
        (Update, Nothing, false),
    ];
    for (one, other, conflicts) in cases {
        let lake = in_memory().await;
        let table = create(&lake, "files").await;
        let mut transaction = lake.begin().await.unwrap();
        let shared = insert(&mut transaction, table, &file(1)).await.unwrap();
        transaction.commit().await.unwrap();
        let (mut first, mut second) = (lake.begin().await.unwrap(), lake.begin().await.unwrap());
        let mut refused = false;
        for (transaction, does, path) in [(&mut first, one, "x"), (&mut second, other, "y")] {
            match does {
                // Who comes second is told so at once, and can go on with something else.
                Update if path == "y" && matches!(one, Update) => {
                    let updated = transaction.update(table, vec![(shared, file(1).encode())]).await;
                    assert_fails(updated, ErrorKind::Conflict, &["conflict", "Conflict"]);
                    refused = true;
                }
                Delete if path == "y" && matches!(one, Delete) => {
                    let deleted = transaction.delete(table, vec![shared]).await;
                    assert_fails(deleted, ErrorKind::Conflict, &["conflict", "Conflict"]);
                    refused = true;
                }
                Insert(id) => drop(insert(transaction, table, &file(id)).await.unwrap()),
                Update => {
                    let new = File::new(1, 1, None, path).encode();
                    assert_eq!(transaction.update(table, vec![(shared, new)]).await.unwrap(), 1);
                }
                Delete => assert_eq!(transaction.delete(table, vec![shared]).await.unwrap(), 1),
                Create => assert!(transaction.create_table(files("new"), false).unwrap()),
                CreateIfNot => assert!(transaction.create_table(files("NEW"), true).unwrap()),
                Drop => assert!(transaction.drop_table("main", "files", false).unwrap()),
                Alter => {
                    let column = ColumnDef::new("added", "VARCHAR");
                    transaction.alter_table("main", "files", Alteration::AddColumn(column)).unwrap();
                }
                Schema => assert!(transaction.create_schema("s", true).unwrap()),
                Nothing => {}
            }
        }
        first.commit().await.unwrap();
        let committed = second.commit().await;
        if conflicts && !refused {
            assert_fails(committed, ErrorKind::Conflict, &["conflict"]);
        } else {
            committed.unwrap_or_else(|error| panic!("{one:?} and {other:?}: {error}"));
        }
        // The next one goes on with what there is.
        let mut next = lake.begin().await.unwrap();
        if matches!(one, Update) {
            assert_eq!(next.delete(table, vec![shared]).await.unwrap(), 1);
        }
        next.commit().await.unwrap();
    }
}

#[tokio::test]
async fn what_is_committed_is_there_when_the_catalog_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("lake").to_str().unwrap().to_owned();
    let storage = Storage::local();
    let open = |options: OpenOptions| Lake::open(&storage, &location, options);
    assert_fails(open(reading()).await, ErrorKind::NotFound, &[&location]);
    assert_fails(open(OpenOptions { create: false, ..writing() }).await, ErrorKind::NotFound, &[&location]);
    assert!(!std::fs::exists(&location).unwrap(), "nothing is made by looking");

    let encrypted = |encrypted| OpenOptions { encrypted: Some(encrypted), ..writing() };
    let lake = open(encrypted(true)).await.unwrap();
    let table = create(&lake, "files").await;
    let mut checkpoint = None;
    for id in 0..200 {
        let mut transaction = lake.begin().await.unwrap();
        insert(&mut transaction, table, &File::new(id, id % 5, None, "p")).await.unwrap();
        transaction.commit().await.unwrap();
        if id == 99 {
            checkpoint = Some(lake.checkpoint(Some("half".to_owned()), None).await.unwrap());
        }
    }
    let mut rolled_back = lake.begin().await.unwrap();
    insert(&mut rolled_back, table, &File::new(900, 1, None, "p")).await.unwrap();
    drop(rolled_back);
    let checkpoint = checkpoint.unwrap();
    lake.collect_garbage(Some(std::time::Duration::ZERO)).await.unwrap();
    assert_eq!(lake.checkpoints().await.unwrap(), std::slice::from_ref(&checkpoint));
    // Everybody of this process has the same writer.
    let again = open(writing()).await.unwrap();
    assert_fails(open(encrypted(false)).await, ErrorKind::InvalidInput, &["encrypted", &location]);
    lake.close().await.unwrap();
    assert_eq!(all(&again.begin().await.unwrap(), table).await.len(), 200);
    again.close().await.unwrap();

    assert_fails(open(encrypted(false)).await, ErrorKind::InvalidInput, &["encrypted"]);
    let lake = open(OpenOptions { create: false, ..encrypted(true) }).await.unwrap();
    let transaction = lake.begin().await.unwrap();
    assert_eq!(all(&transaction, table).await.len(), 200);
    assert_eq!(scan(&transaction, table, &[Filter::Equal { column: TABLE_ID, value: 3 }]).await.len(), 40);
    drop(transaction);

    let old = open(OpenOptions { checkpoint: Some(checkpoint.id), ..reading() }).await.unwrap();
    let mut transaction = old.begin().await.unwrap();
    assert_eq!(all(&transaction, table).await.len(), 100);
    let inserted = insert(&mut transaction, table, &File::new(1, 1, None, "p")).await;
    assert_fails(inserted, ErrorKind::ReadOnly, &["read-only"]);
    assert_fails(transaction.create_schema("s", true), ErrorKind::ReadOnly, &[]);
    assert_fails(old.collect_garbage(None).await, ErrorKind::ReadOnly, &[]);
    lake.delete_checkpoint(checkpoint.id).await.unwrap();
    assert_eq!(lake.checkpoints().await.unwrap(), []);
    lake.close().await.unwrap();
}
