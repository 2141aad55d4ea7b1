//! `demo`, end to end.

use crate::support::{Folder, files_below, outcome};

#[test]
fn the_demo_runs_and_what_it_suggests_works() {
    let folder = Folder::new();
    let run = folder.run(&["demo"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{}", run.stdout);
    let (tour, suggestions) = run.stdout.split_once("Try:\n").unwrap();
    let wide: Vec<_> = tour.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:?}");
    assert!(!run.stdout.contains('\x1b'));
    for part in ["336,776 flights", "PARE", "AGS1", "\"format-version\"", "hint: ", "caused by: "] {
        assert!(run.stdout.contains(part), "{part} in\n{}", run.stdout);
    }
    assert_eq!(run.stdout.matches("\nerror: ").count(), 2, "{}", run.stdout);
    let commands: Vec<&str> = suggestions.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert!(commands.len() >= 6 && commands[0].starts_with("cd "), "{commands:?}");
    for command in &commands[1..] {
        let script = format!("{} && {command}", commands[0]);
        let mut shell = assert_cmd::Command::new("sh");
        // The shell, which is among them, ends with its input.
        let run = outcome(
            shell
                .args(["-c", &script])
                .current_dir(folder.path(""))
                .env("HOME", folder.path(""))
                .write_stdin("select 1"),
        );
        assert_eq!(run.code, 0, "{script}: {}", run.stderr);
        assert!(!run.stdout.is_empty(), "{script}");
    }

    // Again in the same place, but not over what somebody else made.
    assert_eq!(folder.run(&["demo"]).code, 0);
    let config = "lakelock-demo/lakelock.toml";
    folder.write("a.csv", "id\n1\n");
    folder.ok(&["--config", config, "load", "my.own", "a.csv", "--create", "--key", "demo-key"]);
    let before = files_below(&folder.path("lakelock-demo"));
    assert!(folder.fails(1, &["demo"]).contains("my.own"));
    assert_eq!(files_below(&folder.path("lakelock-demo")), before);
    assert!(folder.fails(1, &["demo", "."]).contains("not an earlier demo"));
}
