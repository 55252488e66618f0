//! The store that ends with the process: the part of the behaviour suite that needs no other program.

use std::sync::Arc;

use toolrail_core::{Store, async_trait};
use toolrail_store::{StoreUrl, open};

use crate::behaviour::{Subject, by, put, suite};

/// One store: every handle to it is the same.
struct Memory(Arc<dyn Store>);

async fn memory() -> Memory {
    Memory(open(&StoreUrl::Memory).await.unwrap())
}

#[async_trait]
impl Subject for Memory {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::clone(&self.0)
    }

    async fn sql(&self, _: &str) -> Result<(), String> {
        unreachable!("nobody else can write into this process")
    }
}

suite! { @without_other_programs memory }

#[tokio::test]
async fn each_has_its_own_memory_and_it_ends_with_the_store() {
    let (one, other) = (memory().await.0, memory().await.0);
    assert_eq!(one.describe(), "memory");
    one.write(&[put("a", "1")], &by("ann")).await.unwrap();
    assert_eq!(other.count().await.unwrap(), 0);
    one.close().await;
    one.count().await.unwrap_err();
}
