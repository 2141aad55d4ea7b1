//! What every command needs: its options, and the catalog they lead to.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lakelock_catalog::Catalog;
use lakelock_crypto::{KeyLength, SecretKey};
use lakelock_kms::{KeyManagementClient, KmsRegistry, LocalKms};

use crate::args::GlobalOptions;
use crate::commands::keystore::Place;
use crate::config::{CatalogSettings, Config, Surroundings};
use crate::failure::{Context as _, Result};
use crate::output::OutputFormat;
use crate::paths;
use crate::terminal::Paint;

/// The global options and where the program was started.
#[derive(Debug)]
pub(crate) struct Context {
    options: GlobalOptions,
    surroundings: Surroundings,
}

impl Context {
    /// For this process.
    pub(crate) fn new(options: GlobalOptions) -> Result<Self> {
        Ok(Self { options, surroundings: Surroundings::of_process()? })
    }

    /// For a command that speaks for itself: tables, and nothing on standard error.
    pub(crate) fn for_people(&self) -> Self {
        let options = GlobalOptions { output: OutputFormat::Table, quiet: true, ..self.options.clone() };
        Self { options, surroundings: self.surroundings.clone() }
    }

    /// The catalog's name given with `--catalog`.
    pub(crate) fn catalog_name(&self) -> Option<&str> {
        self.options.catalog.as_deref()
    }

    /// How data is to be written.
    pub(crate) fn format(&self) -> OutputFormat {
        self.options.output
    }

    /// Colours for standard output.
    pub(crate) fn paint(&self) -> Paint {
        Paint::stdout(self.options.color)
    }

    /// Colours for standard error.
    pub(crate) fn paint_stderr(&self) -> Paint {
        Paint::stderr(self.options.color)
    }

    /// Whether only errors are to be said.
    pub(crate) fn is_quiet(&self) -> bool {
        self.options.quiet
    }

    /// Says something on standard error, unless asked to be quiet.
    pub(crate) fn say(&self, line: impl AsRef<str>) {
        if !self.options.quiet {
            // A closed standard error is no reason to fail.
            let _ = writeln!(std::io::stderr(), "{}", line.as_ref());
        }
    }

    /// The catalog to work on, as configured.
    pub(crate) fn settings(&self) -> Result<CatalogSettings> {
        let config = Config::load(self.options.config.as_deref(), &self.surroundings)?;
        if let Some(file) = config.file() {
            tracing::debug!(file = %file.display(), "configuration");
        }
        config.catalog(self.options.catalog.as_deref(), &self.options.set, &self.surroundings.folder)
    }

    /// What leads to object stores: the properties of the configured catalog, if there is one.
    pub(crate) fn storage_properties(&self) -> Result<HashMap<String, String>> {
        let config = Config::load(self.options.config.as_deref(), &self.surroundings)?;
        if config.is_empty() && self.options.catalog.is_none() && self.options.set.is_empty() {
            return Ok(HashMap::new());
        }
        Ok(self.settings()?.properties.to_map())
    }

    /// The catalog to work on, open for what needs no keys.
    pub(crate) async fn catalog(&self) -> Result<OpenCatalog> {
        open_catalog(&self.settings()?).await
    }

    /// The catalog to work on, open for reading and writing tables: asks for the keystore's passphrase if need be.
    pub(crate) async fn catalog_with_keys(&self) -> Result<OpenCatalog> {
        let settings = self.settings()?;
        match Place::ask_for_client(&settings.properties)? {
            Some(client) => open_catalog_with(&settings, client).await,
            None => open_catalog(&settings).await,
        }
    }

    /// A path as the user typed it, made absolute.
    pub(crate) fn absolute(&self, path: impl AsRef<Path>) -> PathBuf {
        paths::absolute(&self.surroundings.folder, path)
    }

    /// A location of a file as the user typed it: a path is made absolute, a URI stays as it is.
    pub(crate) fn location(&self, text: &str) -> String {
        paths::location(&self.surroundings.folder, text)
    }
}

/// A catalog, open.
#[derive(Debug, Clone)]
pub(crate) struct OpenCatalog {
    catalog: Arc<dyn Catalog>,
    kms: Option<Arc<dyn KeyManagementClient>>,
}

impl OpenCatalog {
    /// For those who keep it.
    pub(crate) fn shared(&self) -> Arc<dyn Catalog> {
        self.catalog.clone()
    }

    /// Whether the KMS wraps with a master key, so that work which needs it need not be done in vain. Without a KMS
    /// there is nothing to ask; writing says so itself.
    pub(crate) async fn check_master_key(&self, key_id: &str) -> Result<()> {
        let Some(kms) = &self.kms else { return Ok(()) };
        let key = SecretKey::generate(KeyLength::Aes128)?;
        kms.wrap_key(&key, key_id).await.with_context(|| format!("the master key {key_id} cannot be used"))?;
        Ok(())
    }
}

impl std::ops::Deref for OpenCatalog {
    type Target = dyn Catalog;

    fn deref(&self) -> &Self::Target {
        &*self.catalog
    }
}

/// The KMS of a catalog, if it has one: asks for the keystore's passphrase if need be.
pub(crate) fn open_kms(settings: &CatalogSettings) -> Result<Option<Arc<dyn KeyManagementClient>>> {
    if let Some(client) = Place::ask_for_client(&settings.properties)? {
        return Ok(Some(Arc::new(client)));
    }
    Ok(KmsRegistry::with_builtins().from_catalog_properties(&settings.properties.to_map())?)
}

/// Opens the catalog that settings describe.
pub(crate) async fn open_catalog(settings: &CatalogSettings) -> Result<OpenCatalog> {
    open(settings, &KmsRegistry::with_builtins()).await
}

async fn open_catalog_with(settings: &CatalogSettings, client: LocalKms) -> Result<OpenCatalog> {
    let client: Arc<dyn KeyManagementClient> = Arc::new(client);
    let mut registry = KmsRegistry::empty();
    registry.register("local", move |_| Ok(client.clone()))?;
    open(settings, &registry).await
}

async fn open(settings: &CatalogSettings, registry: &KmsRegistry) -> Result<OpenCatalog> {
    let properties = settings.properties.to_map();
    let catalog = lakelock_catalog::catalog_from_properties_with_registry(&settings.name, &properties, registry)
        .await
        .with_context(|| format!("cannot open the catalog {}", settings.name))?;
    Ok(OpenCatalog { catalog, kms: registry.from_catalog_properties(&properties)? })
}
