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
    assert!(!run.stdout.contains("\n\n\n"), "{}", run.stdout);
    let made = |name: &str| {
        std::fs::read_dir(folder.path("lakelock-demo"))
            .unwrap()
            .any(|entry| entry.unwrap().file_name().to_string_lossy().contains(name))
    };
    assert!(made("keystore") && !made("other"));
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

    // Again in the same place, be it interrupted before, but not over what somebody else made.
    #[cfg(unix)]
    interrupt(&folder);
    assert_eq!(folder.run(&["demo"]).code, 0);
    let config = "lakelock-demo/lakelock.toml";
    folder.write("a.csv", "id\n1\n");
    folder.ok(&["--config", config, "load", "my.own", "a.csv", "--create", "--key", "demo-key"]);
    let before = files_below(&folder.path("lakelock-demo"));
    assert!(folder.fails(1, &["demo"]).contains("my.own"));
    assert_eq!(files_below(&folder.path("lakelock-demo")), before);
    assert!(folder.fails(1, &["demo", "."]).contains("not an earlier demo"));
}

/// Stops a demo while it works, which says what is left of it.
#[cfg(unix)]
fn interrupt(folder: &Folder) {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    let program = folder.command(&["demo"]).get_program().to_owned();
    let mut demo = Command::new(program);
    demo.arg("demo").current_dir(folder.path(".")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut demo = demo.spawn().unwrap();
    let mut tour = BufReader::new(demo.stdout.take().unwrap()).lines();
    assert!(tour.any(|line| line.unwrap().starts_with("2. ")));
    assert!(Command::new("kill").args(["-INT", &demo.id().to_string()]).status().unwrap().success());
    let ended = demo.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{error}");
    assert!(error.starts_with("error: interrupted: lakelock-demo is left as it was then\nhint: "), "{error}");
}
