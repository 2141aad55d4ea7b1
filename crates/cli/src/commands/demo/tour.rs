//! The steps of the demo, each with a line on what it shows.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use lakelock_crypto::KeyLength;
use lakelock_iceberg::Table;
use lakelock_iceberg::schema_text::parse_schema;
use lakelock_kms::{KEYSTORE_PATH, Keystore};

use super::folder::{FLIGHTS, MARK, TABLE};
use super::program_within;
use crate::commands::init::{DEFAULT_CATALOG, KEYSTORE, Lake};
use crate::commands::keystore::Place;
use crate::commands::table::{Layout, Protection, create};
use crate::commands::{load, sql};
use crate::config::{CatalogSettings, Config, FILE_NAME};
use crate::context::{Context, OpenCatalog, open_catalog};
use crate::failure::{Context as _, Failure, Result};
use crate::ingest::{CsvOptions, FileFormat, Source};
use crate::inspect::hex_dump;
use crate::names;
use crate::terminal::{Paint, byte_size, grouped};

static FLIGHTS_PARQUET: &[u8] = include_bytes!("../../../data/flights.parquet");

/// Of the screens, whatever the terminal.
const WIDTH: usize = 80;

/// The master key of the demo.
const KEY: &str = "demo-key";
const SCHEMA: &str = "year int, month int, day int, dep_time int, sched_dep_time int, dep_delay int, arr_time int, \
    sched_arr_time int, arr_delay int, carrier string, flight int, tailnum string, origin string, dest string, \
    air_time int, distance int, hour int, minute int, time_hour timestamptz";

const QUERIES: [(&str, &str); 3] = [
    (
        "Which airlines are late? All files are read, two columns of each.",
        "select carrier, count(*) as flights, round(avg(arr_delay), 1) as avg_delay
from demo.flights group by carrier order by avg_delay desc limit 5",
    ),
    (
        "Christmas at JFK. Only December's file is opened: the partition says so.",
        "select dest, count(*) as flights, max(dep_delay) as worst
from demo.flights where month = 12 and day = 25 and origin = 'JFK'
group by dest order by flights desc, dest limit 4",
    ),
    (
        "Every row has an id for life, as Iceberg v3 wants it.",
        "select _row_id, carrier, flight, tailnum, distance
from demo.flights order by distance desc, _row_id limit 3",
    ),
];

/// What the tour goes through.
pub(super) struct Tour<'a> {
    context: &'a Context,
    folder: &'a Path,
    shown: &'a Path,
    paint: Paint,
    step: usize,
}

impl<'a> Tour<'a> {
    pub(super) fn new(context: &'a Context, folder: &'a Path, shown: &'a Path) -> Self {
        Self { context, folder, shown, paint: context.paint(), step: 0 }
    }

    pub(super) async fn run(mut self) -> Result<()> {
        say(self.paint.bold("Lakelock: an encrypted Iceberg table, from its first byte to a wrong key"))?;

        self.headline("A place to work")?;
        let settings = self.make_place().await?;
        let catalog = open_catalog(&settings).await?;

        self.headline("An encrypted table, with real data")?;
        let table = self.load(&catalog).await?;

        self.headline("What lies on disk")?;
        self.look_at_bytes(&table).await?;

        self.headline("Three queries")?;
        let session = sql::session(&catalog).await?;
        for (i, (what, statement)) in QUERIES.into_iter().enumerate() {
            if i > 0 {
                say("")?;
            }
            say(what)?;
            say(self.paint.command(statement))?;
            say("")?;
            sql::query(self.context, &session, statement).await?;
        }

        self.headline("Somebody changes one byte")?;
        self.tamper(&catalog, &table).await?;

        self.headline("Somebody has another key")?;
        self.wrong_key(&settings).await?;

        self.goodbye()
    }

    async fn make_place(&self) -> Result<CatalogSettings> {
        let lake = Lake { catalog: DEFAULT_CATALOG, passphrase: false, warehouse: None, title: MARK };
        lake.make_in(self.context, self.folder).await?;
        fs::write(self.folder.join(FLIGHTS), FLIGHTS_PARQUET).with_context(|| format!("cannot write {FLIGHTS}"))?;
        let file = self.folder.join(FILE_NAME);
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let settings = Config::from_text(&text, &file)?.catalog(Some(DEFAULT_CATALOG), &[], self.folder)?;
        Place::of(&settings.properties)?.open()?.create_key(KEY, KeyLength::Aes256)?;
        say(format!(
            "{}/ has a SQLite catalog, a warehouse folder and a keystore now, with\n\
             a master key in it: {KEY}. The key stays there; tables know its name alone.",
            self.shown.display()
        ))?;
        Ok(settings)
    }

    async fn load(&self, catalog: &OpenCatalog) -> Result<Table> {
        let ident = names::table(TABLE)?;
        let layout = Layout { partition_by: Some("month".to_owned()), property: Vec::new() };
        let protection = Protection::under(Some(KEY.to_owned()));
        let table = create(self.context, catalog, &ident, parse_schema(SCHEMA)?, &protection, &layout).await?;
        let source = Source::new(self.folder.join(FLIGHTS), Some(FileFormat::Parquet))?;
        let started = Instant::now();
        load::load(self.context, catalog, &table, vec![source], CsvOptions::default()).await?;
        let seconds = started.elapsed().as_secs_f64();
        let table = catalog.load_table(&ident).await?;
        let summary = table.metadata().current_snapshot().map(|snapshot| &snapshot.summary().additional_properties);
        let count = |name: &str| summary.and_then(|s| s.get(name)?.parse::<u64>().ok()).unwrap_or_default();
        say(format!(
            "All {} flights that left New York in 2013 went into {TABLE},\n\
             partitioned by month: {} files, {}, encrypted, in {seconds:.1} s.\n\
             Each file has a key of its own. The keys of data files lie in encrypted\n\
             manifests, theirs in an encrypted manifest list, and its key in the metadata,\n\
             encrypted under a key that {KEY} wraps.",
            grouped(count("total-records")),
            count("total-data-files"),
            byte_size(count("total-files-size")),
        ))?;
        Ok(table)
    }

    async fn look_at_bytes(&self, table: &Table) -> Result<()> {
        let metadata = fs::read_to_string(local_path(table.metadata_location()))
            .with_context(|| format!("cannot read {}", table.metadata_location()))?;
        say("metadata.json is for everybody to read. It has no rows, and no key unwrapped:")?;
        for line in metadata.as_bytes()[..metadata.len().min(144)].chunks(72) {
            say(format!("  {}", self.paint.dim(String::from_utf8_lossy(line))))?;
        }
        say(format!("  {}", self.paint.dim("...")))?;
        for key in table.metadata().encryption_keys_iter() {
            let start = |text: &str| format!("{}...", text.chars().take(10).collect::<String>());
            let (id, wrapped) = (start(key.key_id()), start(&hex::encode(key.encrypted_key_metadata())));
            let by =
                key.encrypted_by_id().map_or_else(String::new, |by| if by == KEY { by.to_owned() } else { start(by) });
            say(format!("  {}", self.paint.dim(format!("key {id} = {wrapped} wrapped by {by}"))))?;
        }

        let data = self.data_file(table).await?;
        self.dump("A data file is Parquet with everything encrypted: PARE instead of PAR1.", &data)?;
        let list = table.metadata().current_snapshot().map(|snapshot| snapshot.manifest_list().to_owned());
        let list = list.ok_or_else(|| Failure::new("the table has no snapshot"))?;
        self.dump("A manifest list, like a manifest, is an AES GCM stream: AGS1.", &local_path(&list))
    }

    fn dump(&self, what: &str, file: &Path) -> Result<()> {
        let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        say("")?;
        say(what)?;
        for line in hex_dump(&bytes[..bytes.len().min(48)]) {
            say(format!("  {}", self.paint.dim(line)))?;
        }
        Ok(())
    }

    async fn tamper(&self, catalog: &OpenCatalog, table: &Table) -> Result<()> {
        /// Within the first column's first page.
        const PLACE: usize = 40;
        let file = self.data_file(table).await?;
        let cannot = || format!("cannot change {}", file.display());
        let whole = fs::read(&file).with_context(cannot)?;
        let mut changed = whole.clone();
        let byte = changed.get_mut(PLACE).ok_or_else(|| Failure::new("the data file is too short"))?;
        *byte ^= 1;
        say(format!(
            "Byte {PLACE} of a data file was {:02x} and is {:02x} now. A query that meets it:",
            whole[PLACE], *byte
        ))?;
        let statement = "select year, count(*) from demo.flights group by year";
        say(self.paint.command(statement))?;
        say("")?;
        fs::write(&file, &changed).with_context(cannot)?;
        let outcome = match sql::session(catalog).await {
            Ok(session) => sql::query(self.context, &session, statement).await,
            Err(failure) => Err(failure),
        };
        fs::write(&file, &whole).with_context(cannot)?;
        self.expect_failure(outcome)?;
        say("\nNo row of it was believed. The byte is as it was again.")
    }

    async fn wrong_key(&self, settings: &CatalogSettings) -> Result<()> {
        // In a folder of its own, which goes with all that stands next to a keystore.
        let place = self.folder.join(format!("{KEYSTORE}.other"));
        let other = place.join(KEYSTORE);
        let protection = Place::of(&settings.properties)?.protection()?;
        Keystore::create(&other, &protection)?.create_key(KEY, KeyLength::Aes256)?;
        say(format!("Another keystore has a key {KEY} too, but not the same. With that one:"))?;
        let flag = [(KEYSTORE_PATH.to_owned(), other.display().to_string())];
        let file = self.folder.join(FILE_NAME);
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let settings = Config::from_text(&text, &file)?.catalog(Some(DEFAULT_CATALOG), &flag, self.folder)?;
        let statement = "select count(*) from demo.flights";
        say(self.paint.command(statement))?;
        say("")?;
        let outcome = self.query_with(&settings, statement).await;
        fs::remove_dir_all(&place).with_context(|| format!("cannot remove {}", place.display()))?;
        self.expect_failure(outcome)
    }

    async fn query_with(&self, settings: &CatalogSettings, statement: &str) -> Result<()> {
        let session = sql::session(&open_catalog(settings).await?).await?;
        sql::query(self.context, &session, statement).await
    }

    /// Shows the error that was to be shown.
    fn expect_failure(&self, outcome: Result<()>) -> Result<()> {
        match outcome {
            Ok(()) => Err(Failure::new("this query should have failed: please report it")),
            Err(failure) if failure.is_broken_pipe() => Err(failure),
            Err(failure) => {
                // What everybody sees already, and no screen has room for.
                let root = format!("{}/warehouse/demo/flights/data", self.folder.display());
                say(failure.render_below(Some(&root), self.paint, Some(WIDTH)).trim_end())
            }
        }
    }

    fn goodbye(mut self) -> Result<()> {
        let program = program_within(self.shown);
        self.headline("Now you")?;
        say("All of it is still there. Try:")?;
        say("")?;
        for command in [
            format!("cd {}", self.shown.display()),
            format!("{program} sql 'select * from {TABLE} limit 3' --output json"),
            format!("{program} table describe {TABLE}"),
            format!("{program} table files {TABLE}"),
            format!("{program} inspect warehouse/*/*/*/snap-*.avro"),
            format!("{program} inspect warehouse/*/*/*/snap-*.avro --table {TABLE}"),
            format!("{program} sql"),
        ] {
            say(format!("  {}", self.paint.command(command)))?;
        }
        Ok(())
    }

    /// A data file of the table, the same each time.
    async fn data_file(&self, table: &Table) -> Result<PathBuf> {
        use lakelock_iceberg::manifest::{Manifest, read_manifest_list};
        let snapshot = table.metadata().current_snapshot().ok_or_else(|| Failure::new("the table has no snapshot"))?;
        for file in read_manifest_list(table.io(), table.metadata(), snapshot).await? {
            let manifest = Manifest::read(table.io(), table.metadata(), &file).await?;
            if let Some(entry) = manifest.entries.into_iter().next() {
                return Ok(local_path(&entry.data_file.file_path));
            }
        }
        Err(Failure::new("the table has no data file"))
    }

    fn headline(&mut self, text: &str) -> Result<()> {
        self.step += 1;
        say("")?;
        say(self.paint.bold(format!("{}. {text}", self.step)))?;
        say("")
    }
}

fn say(text: impl AsRef<str>) -> Result<()> {
    writeln!(io::stdout(), "{}", text.as_ref())?;
    Ok(())
}

fn local_path(location: &str) -> PathBuf {
    PathBuf::from(location.strip_prefix("file://").or_else(|| location.strip_prefix("file:")).unwrap_or(location))
}
