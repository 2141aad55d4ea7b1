//! A writer that is killed: what it had reported as committed is there, and nothing is there by halves.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

use lakelock_ducklake::{Lake, TableId, Transaction};
use lakelock_storage::Storage;

use crate::support::{File, all, insert, reading, scan, writing};

const COMMITS: i64 = 500;
/// Tells the child where to write.
const LOCATION: &str = "LAKELOCK_TEST_CRASH_LOCATION";
/// How often to kill it.
const KILLS: &str = "LAKELOCK_TEST_KILLS";

/// Commits until it is killed or has made all commits: each adds a snapshot and two files, ends the files of the snapshot
/// before, and counts.
#[tokio::test]
#[ignore = "the child process of the test below"]
async fn child() {
    let Ok(location) = std::env::var(LOCATION) else { return };
    let lake = Lake::open(&Storage::local(), &location, writing()).await.unwrap();
    loop {
        let mut transaction = lake.begin().await.unwrap();
        let [snapshots, files, counter] = ["snapshots", "files", "counter"].map(|name| {
            transaction.create_table(crate::support::files(name), true).unwrap();
            transaction.table("main", name).unwrap().id()
        });
        let number = i64::try_from(all(&transaction, snapshots).await.len()).unwrap();
        if number == COMMITS {
            lake.close().await.unwrap();
            return;
        }
        insert(&mut transaction, snapshots, &File::new(number, number, None, "")).await.unwrap();
        let live = transaction.scan_for_update(files, &[lakelock_ducklake::Filter::Live]).unwrap();
        let ended = live.collect().await.unwrap().into_iter().map(|(id, row)| {
            let file = File { end: Some(number), ..File::decode(&row) };
            (id, file.encode())
        });
        transaction.update(files, ended.collect()).await.unwrap();
        for file in [number * 2, number * 2 + 1] {
            insert(&mut transaction, files, &File::new(file, 1, None, &format!("of {number}"))).await.unwrap();
        }
        let before = scan(&transaction, counter, &[]).await;
        transaction.delete(counter, before.iter().map(|(id, _)| *id).collect()).await.unwrap();
        insert(&mut transaction, counter, &File::new(1, number + 1, None, "")).await.unwrap();
        transaction.commit().await.unwrap();
        let mut out = std::io::stdout().lock();
        writeln!(out, "\ncommitted {number}").and_then(|()| out.flush()).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_writer_leaves_whole_commits() {
    let kills: i64 = std::env::var(KILLS).map_or(5, |kills| kills.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("lake").to_str().unwrap().to_owned();
    let mut committed = 0;
    for kill in 0..kills {
        // Anywhere in this part of the run.
        let random = i64::from(uuid::Uuid::new_v4().as_bytes()[0]);
        let until = kill * COMMITS / kills + random * (COMMITS / kills) / 256;
        let acknowledged = run(&location, Some(until));
        committed = check(&location, committed.max(acknowledged)).await;
    }
    run(&location, None);
    assert_eq!(check(&location, COMMITS).await, COMMITS);
}

/// Runs the child until it has reported the commit of this number, and kills it: how many commits it has reported.
fn run(location: &str, until: Option<i64>) -> i64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--ignored", "--nocapture"])
        .env(LOCATION, location)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut acknowledged = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        if let Some(number) = line.unwrap().strip_prefix("committed ") {
            acknowledged = number.parse::<i64>().unwrap() + 1;
        }
        if until.is_some_and(|until| acknowledged > until) {
            child.kill().unwrap();
        }
    }
    assert_eq!(child.wait().unwrap().success(), until.is_none());
    acknowledged
}

/// Checks what is there: as many commits as were reported at least, each as a whole, to readers and to the next writer.
async fn check(location: &str, at_least: i64) -> i64 {
    let mut seen = Vec::new();
    for options in [reading(), writing()] {
        let lake = Lake::open(&Storage::local(), location, options).await.unwrap();
        let transaction = lake.begin().await.unwrap();
        let table = |name| -> TableId { Transaction::table(&transaction, "main", name).unwrap().id() };
        let commits = i64::try_from(all(&transaction, table("snapshots")).await.len()).unwrap();
        assert!(commits >= at_least, "{at_least} commits were reported, {commits} are there");
        let files: Vec<_> = (0..commits * 2)
            .map(|file| {
                let of = file / 2;
                File::new(file, 1, (of + 1 < commits).then_some(of + 1), &format!("of {of}"))
            })
            .collect();
        assert_eq!(all(&transaction, table("files")).await, files);
        assert_eq!(all(&transaction, table("counter")).await, [File::new(1, commits, None, "")]);
        drop(transaction);
        lake.close().await.unwrap();
        seen.push(commits);
    }
    assert_eq!(seen[0], seen[1]);
    seen[0]
}
