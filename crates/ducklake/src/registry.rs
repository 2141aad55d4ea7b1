//! The writers of this process, of which each catalog has one: a second one would fence the first.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use crate::{error::Result, place::Place, writer::Writer};

type Slot = AsyncMutex<Weak<Writer>>;

/// The writer of the catalog at `place`, which is opened if there is none that still writes.
pub(crate) async fn writer(place: Place, create: bool, encrypted: Option<bool>) -> Result<Arc<Writer>> {
    let mut slot = lock(&place).await;
    if let Some(writer) = slot.upgrade().filter(|writer| writer.is_open()) {
        writer.check_encrypted(encrypted)?;
        return Ok(writer);
    }
    let writer = Writer::open(place, create, encrypted).await?;
    *slot = Arc::downgrade(&writer);
    Ok(writer)
}

/// Lets go of a writer, and closes it if nobody else has it.
pub(crate) async fn release(writer: Arc<Writer>) -> Result<()> {
    // Nobody opens the catalog anew while it is being closed.
    let _slot = lock(writer.place()).await;
    match Arc::into_inner(writer) {
        Some(writer) => writer.close().await,
        None => Ok(()),
    }
}

async fn lock(place: &Place) -> OwnedMutexGuard<Weak<Writer>> {
    static SLOTS: Mutex<Option<HashMap<String, Arc<Slot>>>> = Mutex::new(None);
    let slot = {
        let mut slots = SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
        let slots = slots.get_or_insert_default();
        // Those that nobody uses.
        slots
            .retain(|_, slot| Arc::strong_count(slot) > 1 || slot.try_lock().is_ok_and(|slot| slot.strong_count() > 0));
        Arc::clone(slots.entry(place.identity().to_owned()).or_insert_with(|| Arc::new(Slot::new(Weak::new()))))
    };
    slot.lock_owned().await
}
