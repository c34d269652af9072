//! Ranges that `s3s` refuses with 400 before an operation sees them, as S3 treats them: one that is
//! not understood (another unit, several ranges, an end before its start) is as good as none, and a
//! number may be larger than any object.
//!
//! The header is part of what was signed, so it is changed behind the check of the signature only:
//! such a request is sent once more, without a signature but with who was found to have sent it.

use super::access::Passed;
use http::header::{AUTHORIZATION, RANGE};
use http::{Extensions, HeaderMap, HeaderValue, Method, Request, Uri};
use s3s::route::S3Route;
use s3s::service::S3Service;
use s3s::{Body, S3Request, S3Response, S3Result, s3_error};

/// Takes requests with such ranges.
pub(super) struct Ranges {
    /// The same without this.
    pub inner: S3Service,
}

#[async_trait::async_trait]
impl S3Route for Ranges {
    fn is_match(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        _: &mut Extensions,
    ) -> bool {
        let key = uri.path().trim_start_matches('/').split_once('/');
        let of_object = key.is_some_and(|(_, key)| !key.is_empty());
        let reads = method == Method::GET || method == Method::HEAD;
        let is_strange = |range: &HeaderValue| {
            let range = range.to_str().ok();
            range.is_none() || range.and_then(understood).as_deref() != range
        };
        reads && of_object && headers.get(RANGE).is_some_and(is_strange)
    }

    async fn call(&self, request: S3Request<Body>) -> S3Result<S3Response<Body>> {
        let unsigned = || s3_error!(AccessDenied, "the request is not signed");
        let sender = request.credentials.ok_or_else(unsigned)?;
        let mut again = Request::new(request.input);
        *again.method_mut() = request.method;
        *again.uri_mut() = unsigned_uri(&request.uri)?;
        *again.headers_mut() = request.headers;
        again.extensions_mut().insert(Passed(sender));
        let headers = again.headers_mut();
        headers.remove(AUTHORIZATION);
        let range = headers.remove(RANGE);
        let range = range.as_ref().and_then(|range| understood(range.to_str().ok()?));
        if let Some(range) = range.and_then(|range| HeaderValue::try_from(range).ok()) {
            headers.insert(RANGE, range);
        }
        let answer = self.inner.call(again).await;
        let answer = answer.map_err(|_| s3_error!(InternalError, "the object cannot be read"))?;
        let (head, body) = answer.into_parts();
        let mut response = S3Response::new(body);
        response.status = Some(head.status);
        response.headers = head.headers;
        Ok(response)
    }
}

/// The same address without what signs it.
fn unsigned_uri(uri: &Uri) -> S3Result<Uri> {
    let query = uri.query().unwrap_or_default().split('&');
    let kept: Vec<&str> = query.filter(|pair| !pair.starts_with("X-Amz-")).collect();
    let uri = format!("{}?{}", uri.path(), kept.join("&"));
    uri.parse().map_err(|_| s3_error!(InvalidURI))
}

/// A range in numbers that every object is smaller than; `None` for one that is none.
fn understood(range: &str) -> Option<String> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    let (first, last) = (number(first)?, number(last)?);
    match (first, last) {
        (None, None) => None,
        (None, Some(length)) => Some(format!("bytes=-{length}")),
        (Some(first), None) => Some(format!("bytes={first}-")),
        (Some(first), Some(last)) => (first <= last).then(|| format!("bytes={first}-{last}")),
    }
}

/// A number, the largest where it is larger; `Some(None)` for none at all.
fn number(digits: &str) -> Option<Option<i64>> {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some((!digits.is_empty()).then(|| digits.parse().unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_understood_or_none_at_all() {
        let most = i64::MAX;
        for (range, expected) in [
            ("bytes=0-99999999999999999999", Some(format!("bytes=0-{most}"))),
            ("bytes=99999999999999999999-", Some(format!("bytes={most}-"))),
            ("bytes=-99999999999999999999", Some(format!("bytes=-{most}"))),
            ("bytes=00-01", Some("bytes=0-1".to_owned())),
            ("bytes=5-2", None),
            ("bytes=-", None),
            ("bytes=", None),
            ("bytes=0-1,3-4", None),
            ("bytes=+1-2", None),
            ("bytes=a-b", None),
            ("bytes=1", None),
            ("items=0-1", None),
            ("", None),
        ] {
            assert_eq!(understood(range), expected, "{range}");
        }
    }

    #[test]
    fn what_signs_an_address_is_taken_out_of_it() {
        for (uri, kept) in [
            (
                "http://h:1/b/k%20k?X-Amz-Date=1&response-content-type=a%2Fb&X-Amz-Signature=2",
                "/b/k%20k?response-content-type=a%2Fb",
            ),
            ("/b/k", "/b/k?"),
        ] {
            assert_eq!(unsigned_uri(&uri.parse().unwrap()).unwrap(), kept);
        }
    }
}
