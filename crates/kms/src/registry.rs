//! Which KMS client a catalog uses: names, and Iceberg's catalog properties.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use crate::{CommandKms, Error, ErrorKind, KeyManagementClient, LocalKms, MemoryKms, Remote, RemoteSettings, Result};

/// Catalog property: one of the three cloud services, by its short name.
pub const KMS_TYPE: &str = "encryption.kms-type";
/// Catalog property: a client by its registered name, or by the Java class name of one of the three cloud services.
pub const KMS_IMPL: &str = "encryption.kms-impl";

const CLOUDS: [Cloud; 3] = [
    Cloud { name: "aws", java_class: "org.apache.iceberg.aws.AwsKeyManagementClient" },
    Cloud { name: "azure", java_class: "org.apache.iceberg.azure.keymanagement.AzureKeyManagementClient" },
    Cloud { name: "gcp", java_class: "org.apache.iceberg.gcp.GcpKeyManagementClient" },
];

struct Cloud {
    name: &'static str,
    java_class: &'static str,
}

type Factory = Arc<dyn Fn(&HashMap<String, String>) -> Result<Arc<dyn KeyManagementClient>> + Send + Sync>;

/// The KMS clients that can be configured, by name.
///
/// ```
/// use std::collections::HashMap;
/// use lakelock_kms::KmsRegistry;
///
/// let properties = HashMap::from([
///     (String::from("encryption.kms-impl"), String::from("memory")),
///     (String::from("memory.key.orders"), String::from("30313233343536373839303132333435")),
/// ]);
/// let client = KmsRegistry::with_builtins().from_catalog_properties(&properties)?;
/// assert!(client.is_some());
/// # Ok::<(), lakelock_kms::Error>(())
/// ```
#[derive(Clone)]
pub struct KmsRegistry {
    factories: BTreeMap<String, Factory>,
}

impl KmsRegistry {
    /// A registry without any client.
    #[must_use]
    pub fn empty() -> Self {
        Self { factories: BTreeMap::new() }
    }

    /// A registry with the clients of this crate: `command`, `local` and `memory`, and those that its features add.
    #[must_use]
    pub fn with_builtins() -> Self {
        let mut registry = Self::empty();
        registry.add("local", LocalKms::from_properties);
        registry.add("memory", MemoryKms::from_properties);
        #[cfg(feature = "aws")]
        registry.add_remote("aws", crate::AwsKms::from_properties);
        #[cfg(feature = "azure")]
        registry.add_remote("azure", crate::AzureKms::from_properties);
        registry.add_remote("command", CommandKms::from_properties);
        #[cfg(feature = "gcp")]
        registry.add_remote("gcp", crate::GcpKms::from_properties);
        #[cfg(feature = "pkcs11")]
        registry.add_remote("pkcs11", crate::Pkcs11Kms::from_properties);
        #[cfg(feature = "vault")]
        registry.add_remote("vault", crate::VaultKms::from_properties);
        registry
    }

    fn add<C: KeyManagementClient + 'static>(&mut self, name: &str, make: fn(&HashMap<String, String>) -> Result<C>) {
        let factory: Factory = Arc::new(move |properties| Ok(Arc::new(make(properties)?)));
        self.factories.insert(name.to_owned(), factory);
    }

    /// Adds a client whose calls are single attempts to reach a service.
    fn add_remote<C: KeyManagementClient + 'static>(
        &mut self,
        name: &str,
        make: fn(&HashMap<String, String>) -> Result<C>,
    ) {
        let factory: Factory = Arc::new(move |properties| {
            let settings = RemoteSettings::from_properties(properties)?;
            Ok(Arc::new(Remote::new(make(properties)?, settings)))
        });
        self.factories.insert(name.to_owned(), factory);
    }

    /// Adds a client that [`load`](Self::load) and `encryption.kms-impl` find under `name`.
    ///
    /// `aws`, `azure` and `gcp` are what `encryption.kms-type` and the Java class names look for. The factory gets all
    /// catalog properties. It is called while a catalog is being opened, so it should check its properties and leave
    /// connecting to the first use.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`] if the name is taken: a client is never replaced silently.
    pub fn register<F>(&mut self, name: impl Into<String>, factory: F) -> Result<()>
    where
        F: Fn(&HashMap<String, String>) -> Result<Arc<dyn KeyManagementClient>> + Send + Sync + 'static,
    {
        let name = name.into();
        if self.factories.contains_key(&name) {
            return Err(Error::new(
                ErrorKind::AlreadyExists,
                format!("a KMS client named {name:?} is registered already"),
            ));
        }
        self.factories.insert(name, Arc::new(factory));
        Ok(())
    }

    /// Makes the client registered as `name`.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for a name that is not registered; whatever the client's factory returns.
    pub fn load(&self, name: &str, properties: &HashMap<String, String>) -> Result<Arc<dyn KeyManagementClient>> {
        let factory = self.factories.get(name).ok_or_else(|| {
            let available = self.factories.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let message = format!("KMS {name:?} is not part of this build; available: {available}");
            Error::new(ErrorKind::Unsupported, message)
        })?;
        factory(properties)
    }

    /// Makes the client that a catalog's properties ask for; `None` if they ask for none.
    ///
    /// The rules are Java's: `encryption.kms-type` is `aws`, `azure` or `gcp` in any case; `encryption.kms-impl` names
    /// a client (see [`KMS_IMPL`]); setting both is an error.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for both properties at once or an unknown type; otherwise as [`load`](Self::load).
    pub fn from_catalog_properties(
        &self,
        properties: &HashMap<String, String>,
    ) -> Result<Option<Arc<dyn KeyManagementClient>>> {
        let name = match (properties.get(KMS_TYPE), properties.get(KMS_IMPL)) {
            (None, None) => return Ok(None),
            (Some(kind), Some(name)) => {
                let message = format!("set either {KMS_TYPE} ({kind:?}) or {KMS_IMPL} ({name:?}), not both");
                return Err(Error::new(ErrorKind::InvalidInput, message));
            }
            (Some(kind), None) => cloud_of_type(kind)?,
            (None, Some(name)) => {
                CLOUDS.iter().find(|cloud| cloud.java_class == name).map_or(name.as_str(), |cloud| cloud.name)
            }
        };
        self.load(name, properties).map(Some)
    }
}

impl fmt::Debug for KmsRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KmsRegistry").field("names", &self.factories.keys()).finish()
    }
}

fn cloud_of_type(kind: &str) -> Result<&'static str> {
    let lower = kind.to_lowercase();
    CLOUDS.iter().map(|cloud| cloud.name).find(|name| *name == lower).ok_or_else(|| {
        let message = format!("unknown {KMS_TYPE} {kind:?}: expected aws, azure or gcp (other clients: {KMS_IMPL})");
        Error::new(ErrorKind::InvalidInput, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(pairs: &[(&str, &str)]) -> HashMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn no_property_means_no_client() {
        assert!(KmsRegistry::with_builtins().from_catalog_properties(&properties(&[])).unwrap().is_none());
    }

    #[test]
    fn properties_that_cannot_be_served_name_what_is_wrong() {
        type Properties = &'static [(&'static str, &'static str)];
        let cases: [(Properties, ErrorKind, &str); 8] = [
            (&[(KMS_TYPE, "aws"), (KMS_IMPL, "memory")], ErrorKind::InvalidInput, "not both"),
            (&[(KMS_TYPE, "vault")], ErrorKind::InvalidInput, "vault"),
            (&[(KMS_TYPE, "local")], ErrorKind::InvalidInput, "local"),
            (&[(KMS_TYPE, "")], ErrorKind::InvalidInput, "\"\""),
            (&[(KMS_TYPE, "AWS")], ErrorKind::Unsupported, "\"aws\" is not part of this build; available: local"),
            (&[(KMS_IMPL, CLOUDS[1].java_class)], ErrorKind::Unsupported, "azure"),
            (&[(KMS_IMPL, "com.example.OwnKms")], ErrorKind::Unsupported, "com.example.OwnKms"),
            (&[(KMS_IMPL, "local")], ErrorKind::InvalidInput, "keystore.path"),
        ];
        let mut registry = KmsRegistry::empty();
        registry.add("local", LocalKms::from_properties);
        for (pairs, kind, text) in cases {
            let error = registry.from_catalog_properties(&properties(pairs)).unwrap_err();
            assert_eq!(error.kind(), kind, "{pairs:?}");
            assert!(error.to_string().contains(text), "{pairs:?}: {error}");
        }
    }

    #[test]
    fn a_registered_cloud_is_found_by_type_and_by_java_class() {
        for cloud in &CLOUDS {
            let mut registry = KmsRegistry::empty();
            registry.register(cloud.name, |_| Ok(Arc::new(MemoryKms::new()))).unwrap();
            let by_type = properties(&[(KMS_TYPE, &cloud.name.to_uppercase())]);
            assert!(registry.from_catalog_properties(&by_type).unwrap().is_some());
            let by_class = properties(&[(KMS_IMPL, cloud.java_class)]);
            assert!(registry.from_catalog_properties(&by_class).unwrap().is_some());
        }
    }

    #[test]
    fn a_client_is_not_replaced() {
        let mut registry = KmsRegistry::with_builtins();
        let error = registry.register("local", |_| Ok(Arc::new(MemoryKms::new()))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    }
}
