//! Which tenant a request is for: the one it names, or the one this server is for. Naming one proves nothing; whoever may
//! send requests may name any tenant.

use http::header::{HeaderMap, HeaderName};
use toolrail_core::Principal;

use super::guard::Refusal;

/// The header that names the tenant.
pub const TENANT: HeaderName = HeaderName::from_static("toolrail-tenant");

/// Who sends requests that name no tenant.
#[derive(Debug, Default)]
pub struct Tenants {
    usual: Principal,
}

impl Tenants {
    /// Requests that name no tenant come from `usual`.
    pub fn new(usual: Principal) -> Self {
        Self { usual }
    }

    /// Who sends a request with those headers.
    pub(super) fn principal(&self, headers: &HeaderMap) -> Result<Principal, Refusal> {
        let mut values = headers.get_all(&TENANT).iter();
        let Some(named) = values.next() else {
            return Ok(self.usual.clone());
        };
        let text = String::from_utf8_lossy(named.as_bytes());
        let principal = Principal::of_tenant(&text).map_err(Refusal::Tenant)?;
        if values.next().is_some() {
            return Err(Refusal::TenantTwice);
        }
        Ok(principal)
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_request_is_for_the_tenant_it_names_or_else_for_the_usual_one() {
        let usual = Principal::of_tenant("usual").unwrap();
        let tenants = Tenants::new(usual.clone());
        let mut headers = HeaderMap::new();
        assert_eq!(tenants.principal(&headers).unwrap(), usual);
        headers.insert(TENANT, HeaderValue::from_static("acme"));
        assert_eq!(tenants.principal(&headers).unwrap().tenant(), Some("acme"));
        assert_eq!(Tenants::default().principal(&HeaderMap::new()).unwrap(), Principal::Anonymous);
    }

    #[test]
    fn a_tenant_that_is_none_or_is_named_twice_is_refused() {
        let mut headers = HeaderMap::new();
        for wrong in ["", "a b", "a/b"] {
            headers.insert(TENANT, HeaderValue::from_static(wrong));
            assert!(matches!(Tenants::default().principal(&headers), Err(Refusal::Tenant(_))), "{wrong}");
        }
        headers.insert(TENANT, HeaderValue::from_static("acme"));
        headers.append(TENANT, HeaderValue::from_static("acme"));
        assert_eq!(Tenants::default().principal(&headers), Err(Refusal::TenantTwice));
    }
}
