//! Which catalogs there are: `lakelock.toml`, the environment, then flags.
//!
//! The file has one table per catalog, of Iceberg catalog properties. Dotted keys may be quoted or not:
//!
//! ```toml
//! default-catalog = "main"            # needed only when there are several
//!
//! [catalog.main]
//! type = "sql"
//! uri = "sqlite:catalog.db"           # relative paths start at this file's folder
//! warehouse = "warehouse"
//! encryption.kms-impl = "local"
//! keystore.path = "keystore.json"
//! ```
//!
//! A variable `LAKELOCK_CATALOG__NAME__PROPERTY` sets a property of a catalog, made up if the file has none of that
//! name. In both parts upper case stands for lower case, `__` for `.` and `_` for `-`: `keystore.key-file` of `main` is
//! `LAKELOCK_CATALOG__MAIN__KEYSTORE__KEY_FILE`.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};

use crate::failure::{Context as _, Failure, Result};
use crate::paths;

/// The file's name.
pub(crate) const FILE_NAME: &str = "lakelock.toml";

const ENVIRONMENT_PREFIX: &str = "LAKELOCK_CATALOG__";

/// Properties whose value is a path, or may be.
const PATH_PROPERTIES: [&str; 3] = ["warehouse", "keystore.path", "keystore.key-file"];

/// The catalogs that are configured.
#[derive(Debug, Default)]
pub(crate) struct Config {
    file: Option<PathBuf>,
    default_catalog: Option<String>,
    catalogs: BTreeMap<String, Properties>,
}

/// Properties of one catalog. `Debug` shows their names alone, as values may be credentials.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Properties(BTreeMap<String, String>);

/// The catalog that a command works on.
#[derive(Debug)]
pub(crate) struct CatalogSettings {
    /// Its name.
    pub(crate) name: String,
    /// Its properties, with absolute paths.
    pub(crate) properties: Properties,
}

/// Where configuration is looked for.
#[derive(Debug, Clone)]
pub(crate) struct Surroundings {
    /// Relative paths of flags and variables start here.
    pub(crate) folder: PathBuf,
    /// The user's folder of configurations.
    pub(crate) user_folder: Option<PathBuf>,
    /// Environment variables.
    pub(crate) variables: Vec<(String, String)>,
}

impl Surroundings {
    /// Those of this process.
    pub(crate) fn of_process() -> Result<Self> {
        use etcetera::BaseStrategy as _;
        Ok(Self {
            folder: std::env::current_dir().context("cannot tell the current folder")?,
            user_folder: etcetera::base_strategy::Xdg::new().ok().map(|home| home.config_dir().join("lakelock")),
            // A name or value that is no Unicode is none of ours.
            variables: std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .collect(),
        })
    }

    fn find_file(&self, named: Option<&Path>) -> Option<PathBuf> {
        if let Some(named) = named {
            return Some(paths::absolute(&self.folder, named));
        }
        let candidates = std::iter::once(&self.folder).chain(&self.user_folder).map(|folder| folder.join(FILE_NAME));
        candidates.into_iter().find(|file| file.exists())
    }
}

impl Config {
    /// Reads the file, `named` or found, and the environment.
    pub(crate) fn load(named: Option<&Path>, surroundings: &Surroundings) -> Result<Self> {
        let mut config = match surroundings.find_file(named) {
            Some(file) => {
                let text = std::fs::read_to_string(&file)
                    .with_context(|| format!("cannot read the configuration {}", file.display()))?;
                Self::from_text(&text, &file)
                    .with_context(|| format!("the configuration {} is not valid", file.display()))?
            }
            None => Self::default(),
        };
        for (variable, value) in &surroundings.variables {
            if let Some(rest) = variable.strip_prefix(ENVIRONMENT_PREFIX) {
                config.set_from_variable(variable, rest, value, &surroundings.folder)?;
            }
        }
        Ok(config)
    }

    /// Parses a configuration as if `text` were in `file`.
    pub(crate) fn from_text(text: &str, file: &Path) -> Result<Self> {
        let folder = file.parent().unwrap_or(Path::new("/"));
        let document: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            // Not the parser's own picture of the line: what stands there may be a credential.
            let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            Failure::usage(format!("line {line}: {}", error.message()))
        })?;
        let mut config = Self { file: Some(file.to_owned()), ..Self::default() };
        for (key, value) in document {
            match (key.as_str(), value) {
                ("default-catalog", toml::Value::String(name)) => config.default_catalog = Some(name),
                ("catalog", toml::Value::Table(catalogs)) => {
                    for (name, value) in catalogs {
                        let toml::Value::Table(table) = value else {
                            return Err(Failure::usage(format!("catalog.{name} is not a table of properties")));
                        };
                        let mut properties = Properties::default();
                        flatten(&mut properties, "", table, folder).with_context(|| format!("in [catalog.{name}]"))?;
                        config.catalogs.insert(name, properties);
                    }
                }
                (key, _) => {
                    return Err(Failure::usage(format!("unknown entry {key}"))
                        .hint("the file has tables [catalog.NAME] and, if you like, default-catalog = \"NAME\""));
                }
            }
        }
        Ok(config)
    }

    fn set_from_variable(&mut self, variable: &str, rest: &str, value: &str, folder: &Path) -> Result<()> {
        let Some((name, property)) = rest.split_once("__").filter(|(n, p)| !n.is_empty() && !p.is_empty()) else {
            return Err(Failure::usage(format!("the variable {variable} names no property"))
                .hint(format!("its form is {ENVIRONMENT_PREFIX}NAME__PROPERTY")));
        };
        let plain = |text: &str| text.to_lowercase().replace("__", ".").replace('_', "-");
        let name = self.catalogs.keys().find(|known| plain(known) == plain(name)).cloned().unwrap_or(plain(name));
        self.catalogs.entry(name).or_default().set(&plain(property), value, folder);
        Ok(())
    }

    /// Whether no catalog is configured.
    pub(crate) fn is_empty(&self) -> bool {
        self.catalogs.is_empty()
    }

    /// The file that was read.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The catalog of that name, or the one to take when none is named, with what flags set on top.
    pub(crate) fn catalog(
        mut self,
        named: Option<&str>,
        flags: &[(String, String)],
        folder: &Path,
    ) -> Result<CatalogSettings> {
        let name = match named.or(self.default_catalog.as_deref()) {
            Some(name) => name.to_owned(),
            None if self.catalogs.len() > 1 => {
                return Err(Failure::usage(format!("several catalogs are configured: {}", self.names()))
                    .hint("choose one with --catalog NAME, or with default-catalog in lakelock.toml"));
            }
            None => self.catalogs.keys().next().cloned().unwrap_or_else(|| "default".to_owned()),
        };
        let known = self.names();
        let mut properties = match self.catalogs.remove(&name) {
            Some(properties) => properties,
            None if known.is_empty() && !flags.is_empty() => Properties::default(),
            None if known.is_empty() => {
                return Err(Failure::usage("no catalog is configured")
                    .hint("`lakelock init` makes one here; --config FILE names a lakelock.toml elsewhere"));
            }
            None => {
                return Err(
                    Failure::usage(format!("no catalog {name} is configured")).hint(format!("these are: {known}"))
                );
            }
        };
        for (property, value) in flags {
            properties.set(property, value, folder);
        }
        Ok(CatalogSettings { name, properties })
    }

    fn names(&self) -> String {
        self.catalogs.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    }
}

impl Properties {
    /// The value of a property.
    pub(crate) fn get(&self, property: &str) -> Option<&str> {
        self.0.get(property).map(String::as_str)
    }

    /// As the libraries take them.
    pub(crate) fn to_map(&self) -> HashMap<String, String> {
        self.0.iter().map(|(property, value)| (property.clone(), value.clone())).collect()
    }

    fn set(&mut self, property: &str, value: &str, folder: &Path) {
        self.0.insert(property.to_owned(), absolute(property, value, folder));
    }
}

impl fmt::Debug for Properties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// `a.b = 1` in TOML is a table `a` with a key `b`; as a property it is `a.b`.
fn flatten(properties: &mut Properties, prefix: &str, table: toml::Table, folder: &Path) -> Result<()> {
    for (key, value) in table {
        let name = format!("{prefix}{key}");
        let text = match value {
            toml::Value::Table(inner) => {
                flatten(properties, &format!("{name}."), inner, folder)?;
                continue;
            }
            toml::Value::String(text) => text,
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Float(number) => number.to_string(),
            toml::Value::Boolean(flag) => flag.to_string(),
            toml::Value::Datetime(_) | toml::Value::Array(_) => {
                return Err(Failure::usage(format!("{name} must be a string, a number, true or false")));
            }
        };
        properties.set(&name, &text, folder);
    }
    Ok(())
}

/// Resolves a relative path against the folder of whoever wrote it; locations with a scheme stay as they are.
fn absolute(property: &str, value: &str, folder: &Path) -> String {
    let join = |path: &str| paths::absolute(folder, path).display().to_string();
    match value.strip_prefix("sqlite:") {
        Some(path) if property == "uri" => {
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.starts_with(":memory:") { value.to_owned() } else { format!("sqlite:{}", join(path)) }
        }
        _ if PATH_PROPERTIES.contains(&property) && !value.contains(':') => join(value),
        _ => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Fault;

    const FILE: &str = r#"
        [catalog.main]
        type = "sql"
        uri = "sqlite:catalog.db"
        warehouse = "w"
        "encryption.kms-impl" = "local"
        keystore.path = "/abs/ks"
        keystore.key-file = "k"
        number = 3
    "#;

    fn surroundings(variables: &[(&str, &str)]) -> Surroundings {
        Surroundings {
            folder: PathBuf::from("/here"),
            user_folder: None,
            variables: variables.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
        }
    }

    fn parsed() -> Config {
        Config::from_text(FILE, Path::new("/conf/lakelock.toml")).unwrap()
    }

    #[test]
    fn relative_paths_start_at_the_file() {
        let catalog = parsed().catalog(None, &[], Path::new("/here")).unwrap();
        assert_eq!(catalog.name, "main");
        let expected = [
            ("encryption.kms-impl", "local"),
            ("keystore.key-file", "/conf/k"),
            ("keystore.path", "/abs/ks"),
            ("number", "3"),
            ("type", "sql"),
            ("uri", "sqlite:/conf/catalog.db"),
            ("warehouse", "/conf/w"),
        ];
        let found: Vec<_> = catalog.properties.0.iter().map(|(p, v)| (p.as_str(), v.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn flags_win_over_variables_and_those_over_the_file() {
        let mut config = parsed();
        let around = surroundings(&[
            ("LAKELOCK_CATALOG__MAIN__WAREHOUSE", "env"),
            ("LAKELOCK_CATALOG__MAIN__KEYSTORE__KEY_FILE", "env-key"),
            ("LAKELOCK_CATALOG__MY_OTHER__S3__ACCESS_KEY_ID", "x"),
        ]);
        for (variable, value) in &around.variables {
            let rest = variable.strip_prefix(ENVIRONMENT_PREFIX).unwrap();
            config.set_from_variable(variable, rest, value, &around.folder).unwrap();
        }
        assert_eq!(config.names(), "main, my-other");
        assert_eq!(config.catalogs["my-other"].get("s3.access-key-id"), Some("x"));
        let flags = [("warehouse".to_owned(), "s3://b/w".to_owned())];
        let catalog = config.catalog(Some("main"), &flags, Path::new("/here")).unwrap();
        assert_eq!(catalog.properties.get("warehouse"), Some("s3://b/w"));
        assert_eq!(catalog.properties.get("keystore.key-file"), Some("/here/env-key"));
    }

    #[test]
    fn mistakes_say_what_is_wrong() {
        let cases = [
            ("catalogs = 1", "unknown entry catalogs"),
            ("[catalog.a]\nx = [1]", "x must be a string"),
            ("a = \"secret", "line 1: "),
            ("catalog.a = 3", "catalog.a is not a table"),
        ];
        for (text, expected) in cases {
            let failure = Config::from_text(text, Path::new("/f")).unwrap_err();
            let screen = failure.render(crate::terminal::Paint::plain(), None);
            assert!(screen.contains(expected) && !screen.contains("secret"), "{screen}");
        }
        assert!(Config::default().catalog(None, &[], Path::new("/")).unwrap_err().fault() == Fault::Usage);
        assert!(parsed().catalog(Some("b"), &[], Path::new("/")).unwrap_err().fault() == Fault::Usage);
    }

    #[test]
    fn values_are_not_shown() {
        let shown = format!("{:?}", parsed());
        assert!(shown.contains("keystore.path") && !shown.contains("/abs/ks"), "{shown}");
    }
}
