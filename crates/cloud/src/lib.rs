//! Who we are to a cloud platform: the platforms' own credential chains, shared by the KMS clients and the object stores.
