//! A lake: its snapshots, schemas and tables, as `DuckLake` has written them into its catalog.

use std::{collections::HashMap, fmt, path::PathBuf, sync::Arc};

use lakelock_iceberg::TableVersion;
use lakelock_storage::Storage;

use crate::{
    CatalogLocation,
    columns::Column,
    error::{Error, ErrorKind, Result, invalid, not_found, unsupported},
    metadata::{Metadata, Row, Rows, Wanted},
};

/// The version of `DuckLake`'s tables that is understood here.
const VERSION: &str = "1.0";

/// How to open a lake.
#[derive(Clone, Debug, Default)]
pub struct LakeOptions {
    /// Where the data files are, if they were moved: instead of what the catalog says.
    pub data_path: Option<String>,
    /// The schema of the catalog's database that has the lake's tables, if it was attached with a `METADATA_SCHEMA`.
    pub metadata_schema: Option<String>,
    /// `DuckDB`'s command-line client, which reads catalogs in `DuckDB` files; `duckdb`, unless it is said.
    pub duckdb: Option<PathBuf>,
}

/// A lake, to read. A clone is the same one.
#[derive(Clone)]
pub struct DuckLake {
    shared: Arc<Shared>,
}

struct Shared {
    location: String,
    metadata: Metadata,
    storage: Storage,
    data_path: Option<String>,
}

impl DuckLake {
    /// Opens the lake whose catalog is at a location. `storage` leads to data files, and to a catalog of Lakelock.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`], if there is no such catalog; [`ErrorKind::InvalidInput`] for a location that is none;
    /// [`ErrorKind::Storage`].
    pub async fn open(location: &CatalogLocation, options: LakeOptions, storage: Storage) -> Result<Self> {
        let metadata = Metadata::open(location, &options, &storage).await?;
        let shared = Shared { location: location.to_string(), metadata, storage, data_path: options.data_path };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Where its catalog is, without what it takes to connect.
    #[must_use]
    pub fn location(&self) -> &str {
        &self.shared.location
    }

    pub(crate) fn storage(&self) -> &Storage {
        &self.shared.storage
    }

    pub(crate) fn metadata(&self) -> &Metadata {
        &self.shared.metadata
    }

    /// What the catalog says of the lake now.
    pub(crate) async fn overview(&self) -> Result<Overview> {
        let required =
            ["ducklake_metadata", "ducklake_snapshot", "ducklake_schema", "ducklake_table", "ducklake_column"];
        let wanted: Vec<_> = required.into_iter().map(Wanted::all).collect();
        let others = ["ducklake_view", "ducklake_schema_versions", "ducklake_inlined_data_tables"].into_iter();
        let others = others.chain(["ducklake_column_mapping", "ducklake_name_mapping"]);
        let wanted = [wanted, others.map(|table| Wanted::all(table).if_exists()).collect()].concat();
        let answers: [Rows; 10] = (self.metadata().read(&wanted).await?.try_into())
            .map_err(|_| invalid("the catalog has not answered every question"))?;
        let [metadata, snapshots, schemas, tables, columns, views, schema_versions, inlined, mappings, names] = answers;
        Overview::new(
            self.shared.data_path.as_deref(),
            &metadata,
            Tables { snapshots, schemas, of_lake: tables, columns, views, schema_versions, inlined, mappings, names },
        )
    }
}

impl fmt::Debug for DuckLake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DuckLake").field(&self.location()).finish()
    }
}

/// What a catalog says of its lake, at all snapshots, but for the files of tables.
pub(crate) struct Overview {
    data_path: String,
    encrypted: bool,
    rows: Tables,
}

/// All rows of metadata tables that are about more than one table.
struct Tables {
    snapshots: Rows,
    schemas: Rows,
    of_lake: Rows,
    columns: Rows,
    views: Rows,
    schema_versions: Rows,
    inlined: Rows,
    mappings: Rows,
    names: Rows,
}

/// A table in one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LakeTable {
    pub(crate) id: i64,
    pub(crate) schema: String,
    pub(crate) name: String,
    /// Where its files are, unless they say otherwise.
    pub(crate) path: String,
}

/// A table of the catalog that has rows of a lake's table.
pub(crate) struct InlinedTable {
    pub(crate) name: String,
    /// The columns that it was made with.
    pub(crate) columns: Vec<Column>,
}

/// How the columns of files are found that have no field ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MappedName {
    /// Its name in the files.
    pub(crate) name: String,
    pub(crate) field_id: i32,
    /// Whether its value is in the path of the file.
    pub(crate) is_partition: bool,
    pub(crate) children: Vec<MappedName>,
}

impl Overview {
    fn new(data_path: Option<&str>, metadata: &Rows, rows: Tables) -> Result<Self> {
        let mut settings = HashMap::new();
        for row in metadata.iter() {
            // Those with a scope are settings of a schema or table.
            if row.text("scope")?.is_none() {
                settings.insert(row.name("key")?, row.text("value")?.unwrap_or_default());
            }
        }
        match settings.get("version") {
            Some(&VERSION) => {}
            Some(other) => {
                let message = format!(
                    "the catalog has version {other} of DuckLake's tables, and {VERSION} is what can be read here: attach \
                     it with DuckLake 1.0 to upgrade an older one"
                );
                return Err(unsupported(message));
            }
            None => return Err(invalid("the catalog does not say which version of DuckLake's tables it has")),
        }
        let data_path = data_path.or(settings.get("data_path").copied());
        let data_path = data_path.ok_or_else(|| invalid("the catalog does not say where its data files are"))?;
        let encrypted = settings.get("encrypted").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        Ok(Self { data_path: folder(&from_here(data_path)?), encrypted, rows })
    }

    /// Whether its data files are encrypted, and its delete files but for deletion vectors.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.encrypted
    }

    /// The newest snapshot.
    pub(crate) fn newest(&self) -> Result<i64> {
        let mut newest = None;
        for row in self.rows.snapshots.iter() {
            newest = newest.max(Some(row.id("snapshot_id")?));
        }
        newest.ok_or_else(|| not_found("the lake has no snapshot"))
    }

    /// The snapshot that is meant.
    pub(crate) fn snapshot(&self, version: &TableVersion) -> Result<i64> {
        let mut found = None;
        let mut known = Vec::new();
        for row in self.rows.snapshots.iter() {
            let id = row.id("snapshot_id")?;
            known.push(id);
            let is_it = match version {
                TableVersion::Snapshot(wanted) => id == *wanted,
                TableVersion::Timestamp(milliseconds) => {
                    row.microseconds("snapshot_time")?.div_euclid(1000) <= *milliseconds
                }
                _ => {
                    let message = format!("DuckLake has no branches or tags such as {version}: name a snapshot");
                    return Err(Error::new(ErrorKind::InvalidInput, message));
                }
            };
            if is_it {
                found = found.max(Some(id));
            }
        }
        found.ok_or_else(|| {
            let from = known.iter().min().zip(known.iter().max());
            let from = from.map(|(first, last)| format!(": those that are kept go from {first} to {last}"));
            let what = match version {
                TableVersion::Timestamp(_) => format!("snapshot as old as {version}"),
                _ => version.to_string(),
            };
            not_found(format!("the lake has no {what}{}", from.unwrap_or_default()))
        })
    }

    /// The names of schemas in a snapshot.
    pub(crate) fn schemas(&self, snapshot: i64) -> Result<Vec<String>> {
        Ok(self.schema_rows(snapshot)?.into_values().map(|(name, _)| name).collect())
    }

    /// The tables in a snapshot.
    pub(crate) fn tables(&self, snapshot: i64) -> Result<Vec<LakeTable>> {
        let schemas = self.schema_rows(snapshot)?;
        let mut tables = Vec::new();
        for row in live(&self.rows.of_lake, snapshot) {
            let row = row?;
            let (id, of) = (row.id("table_id")?, row.id("schema_id")?);
            let missing = || invalid(format!("table {id} of the lake is of schema {of}, which is not there"));
            let (schema, root) = schemas.get(&of).ok_or_else(missing)?;
            let (name, path) = (row.name("table_name")?.to_owned(), folder(&within(root, row)?));
            tables.push(LakeTable { id, schema: schema.clone(), name, path });
        }
        Ok(tables)
    }

    /// Whether there is a view of this name in a snapshot.
    pub(crate) fn has_view(&self, schema: &str, name: &str, snapshot: i64) -> Result<bool> {
        let schemas = self.schema_rows(snapshot)?;
        for row in live(&self.rows.views, snapshot) {
            let row = row?;
            let of = schemas.get(&row.id("schema_id")?);
            if row.name("view_name")?.eq_ignore_ascii_case(name)
                && of.is_some_and(|(of, _)| of.eq_ignore_ascii_case(schema))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The columns of a table in a snapshot.
    pub(crate) fn columns(&self, table: i64, snapshot: i64) -> Result<Vec<Column>> {
        Column::of_table(self.rows.columns.iter(), table, snapshot)
    }

    /// Where the catalog itself may have rows of a table.
    pub(crate) fn inlined_tables(&self, table: i64) -> Result<Vec<InlinedTable>> {
        let mut inlined = Vec::new();
        for row in self.rows.inlined.iter() {
            if row.id("table_id")? == table {
                let snapshot = self.first_of_schema(table, row.id("schema_version")?)?;
                let (name, columns) = (row.name("table_name")?.to_owned(), self.columns(table, snapshot)?);
                inlined.push(InlinedTable { name, columns });
            }
        }
        Ok(inlined)
    }

    /// The first snapshot in which a table was as in a version of the lake's schema.
    fn first_of_schema(&self, table: i64, version: i64) -> Result<i64> {
        let mut of_others = None;
        for row in self.rows.schema_versions.iter() {
            if row.id("schema_version")? == version {
                let snapshot = row.id("begin_snapshot")?;
                if row.integer("table_id")?.is_none_or(|of| of == table) {
                    return Ok(snapshot);
                }
                of_others = of_others.max(Some(snapshot));
            }
        }
        of_others.ok_or_else(|| invalid(format!("the catalog does not know version {version} of the lake's schema")))
    }

    /// How files of a mapping are read.
    pub(crate) fn mapping(&self, id: i64) -> Result<Vec<MappedName>> {
        let mut by_name = false;
        for row in self.rows.mappings.iter() {
            if row.id("mapping_id")? == id {
                match row.name("type")? {
                    "map_by_name" => by_name = true,
                    other => return Err(unsupported(format!("files mapped by {other} cannot be read here"))),
                }
            }
        }
        if !by_name {
            return Err(invalid(format!("the catalog has no column mapping {id}")));
        }
        let mut by_parent: HashMap<Option<i64>, Vec<(i64, MappedName)>> = HashMap::new();
        for row in self.rows.names.iter() {
            if row.id("mapping_id")? == id {
                let mapped = MappedName {
                    name: row.name("source_name")?.to_owned(),
                    field_id: crate::columns::field_id_of(row.id("target_field_id")?)?,
                    is_partition: row.flag("is_partition")?.unwrap_or(false),
                    children: Vec::new(),
                };
                let siblings = by_parent.entry(row.integer("parent_column")?).or_default();
                siblings.push((row.id("column_id")?, mapped));
            }
        }
        Ok(nest(&mut by_parent, None))
    }

    /// Names and folders of schemas, by id.
    fn schema_rows(&self, snapshot: i64) -> Result<HashMap<i64, (String, String)>> {
        let mut schemas = HashMap::new();
        for row in live(&self.rows.schemas, snapshot) {
            let row = row?;
            let path = folder(&within(&self.data_path, row)?);
            schemas.insert(row.id("schema_id")?, (row.name("schema_name")?.to_owned(), path));
        }
        Ok(schemas)
    }
}

/// Takes each out of the map once, so that no circle is followed.
fn nest(by_parent: &mut HashMap<Option<i64>, Vec<(i64, MappedName)>>, parent: Option<i64>) -> Vec<MappedName> {
    let mapped = by_parent.remove(&parent).unwrap_or_default().into_iter();
    mapped.map(|(id, mapped)| MappedName { children: nest(by_parent, Some(id)), ..mapped }).collect()
}

/// The rows that are part of a snapshot.
pub(crate) fn live(rows: &Rows, snapshot: i64) -> impl Iterator<Item = Result<Row<'_>>> {
    rows.iter().filter_map(move |row| match row.is_live_at(snapshot) {
        Ok(true) => Some(Ok(row)),
        Ok(false) => None,
        Err(error) => Some(Err(error)),
    })
}

/// The path of a row, within `root` if it is relative.
pub(crate) fn within(root: &str, row: Row<'_>) -> Result<String> {
    let path = row.name("path")?;
    Ok(if row.flag("path_is_relative")?.unwrap_or(true) { format!("{root}{path}") } else { path.to_owned() })
}

/// A path on this machine made absolute: a relative one starts at the current folder, as in `DuckDB`.
fn from_here(path: &str) -> Result<String> {
    if path.contains("://") || path.starts_with("file:") || path.starts_with("memory:") {
        return Ok(path.to_owned());
    }
    let absolute = std::path::absolute(path).map_err(|error| {
        Error::new(ErrorKind::InvalidInput, format!("{path} is no folder of data files")).with_source(error)
    })?;
    Ok(absolute.display().to_string())
}

/// A folder, as what is within it can be appended.
fn folder(path: &str) -> String {
    if path.is_empty() || path.ends_with('/') { path.to_owned() } else { format!("{path}/") }
}
