//! Key bytes as base64 in the JSON of requests and answers, without copies that stay behind.

use std::fmt;
use std::marker::PhantomData;

use base64::Engine as _;
#[cfg(feature = "azure")]
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use zeroize::Zeroizing;

use crate::{Error, ErrorKind, Result};

/// How bytes are written as text.
pub(crate) trait Alphabet {
    const ENGINE: GeneralPurpose;
    const NAME: &'static str;
}

/// Padded base64.
#[derive(Debug)]
pub(crate) struct Standard;

impl Alphabet for Standard {
    const ENGINE: GeneralPurpose = STANDARD;
    const NAME: &'static str = "padded base64";
}

/// base64url without padding.
#[cfg(feature = "azure")]
#[derive(Debug)]
pub(crate) struct UrlSafe;

#[cfg(feature = "azure")]
impl Alphabet for UrlSafe {
    const ENGINE: GeneralPurpose = URL_SAFE_NO_PAD;
    const NAME: &'static str = "base64url without padding";
}

/// Bytes that may be a key: wiped when dropped, never shown.
pub(crate) struct KeyBytes<A = Standard>(Zeroizing<Vec<u8>>, PhantomData<A>);

impl<A: Alphabet> KeyBytes<A> {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self(Zeroizing::new(bytes.to_vec()), PhantomData)
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.0
    }

    /// The bytes, where they are a wrapped key and so not secret.
    pub(crate) fn to_wrapped(&self) -> Vec<u8> {
        self.0.to_vec()
    }
}

impl<A: Alphabet> Serialize for KeyBytes<A> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&Zeroizing::new(A::ENGINE.encode(&*self.0)))
    }
}

impl<'de, A: Alphabet> Deserialize<'de> for KeyBytes<A> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor(PhantomData))
    }
}

impl<A> fmt::Debug for KeyBytes<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

struct TextVisitor<A>(PhantomData<A>);

impl<A: Alphabet> de::Visitor<'_> for TextVisitor<A> {
    type Value = KeyBytes<A>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(A::NAME)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> std::result::Result<Self::Value, E> {
        // With room for all: a vector that grows leaves a copy behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(text.len()));
        // The cause is left out: it quotes a character of the text.
        A::ENGINE.decode_vec(text, &mut bytes).map_err(|_| E::custom(format_args!("expected {}", A::NAME)))?;
        Ok(KeyBytes(bytes, PhantomData))
    }
}

/// The JSON of a request that holds a key.
pub(crate) fn to_json(request: &impl Serialize) -> Result<Zeroizing<Vec<u8>>> {
    let mut length = Length(0);
    let mut body = Zeroizing::new(Vec::new());
    // Measured first: a vector that grows leaves copies behind.
    serde_json::to_writer(&mut length, request)
        .and_then(|()| {
            body.reserve_exact(length.0);
            serde_json::to_writer(&mut *body, request)
        })
        .map_err(|_| Error::new(ErrorKind::Internal, "a request to the KMS does not become JSON"))?;
    Ok(body)
}

/// What an answer in JSON says; an error says only where it is wrong, as `serde_json` would quote it.
pub(crate) fn from_json<'a, T: Deserialize<'a>>(body: &'a [u8]) -> std::result::Result<T, String> {
    serde_json::from_slice(body).map_err(|error| {
        let problem = match error.classify() {
            serde_json::error::Category::Data => "is not of the form expected",
            serde_json::error::Category::Eof => "ends too early",
            serde_json::error::Category::Io | serde_json::error::Category::Syntax => "is not JSON",
        };
        format!("the answer {problem} (line {}, column {} of {} bytes)", error.line(), error.column(), body.len())
    })
}

struct Length(usize);

impl std::io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, Serialize)]
    struct Message {
        key: KeyBytes,
    }

    #[test]
    fn key_bytes_survive_json_and_are_not_shown() {
        let body = to_json(&Message { key: KeyBytes::new(b"0123456789abcdef") }).unwrap();
        assert_eq!(body.as_slice(), br#"{"key":"MDEyMzQ1Njc4OWFiY2RlZg=="}"#);
        assert_eq!(body.capacity(), body.len());
        let message: Message = from_json(&body).unwrap();
        assert_eq!(message.key.as_slice(), b"0123456789abcdef");
        assert_eq!(format!("{message:?}"), "Message { key: [redacted] }");
    }

    #[test]
    fn what_is_no_answer_is_not_quoted() {
        for (body, problem) in [
            (r#"{"key":"MDEy"#, "ends too early"),
            (r#"{"key":"MDEyMzQ1Njc4OWFiY2RlZg"}"#, "not of the form"),
            (r#"{"key":"MDEyMzQ1Njc4OWFiY2RlZh=="}"#, "not of the form"),
            (r#"{"KEY":"MDEyMzQ1Njc4OWFiY2RlZg=="}"#, "not of the form"),
            (r#"{"key":["MDEyMzQ1Njc4OWFiY2RlZg=="]}"#, "not of the form"),
            ("MDEyMzQ1Njc4OWFiY2RlZg==", "not JSON"),
            (r#"{"key":"MDEyMzQ1Njc4OWFiY2RlZg=="} x"#, "not JSON"),
        ] {
            let error = from_json::<Message>(body.as_bytes()).unwrap_err();
            assert!(error.contains(problem) && !error.contains("MDEy"), "{body}: {error}");
        }
    }
}
