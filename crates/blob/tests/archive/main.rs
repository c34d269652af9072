//! Archives, packed and unpacked: the rules of Argo, and what hostile ones try.

mod build;
mod hostile;
mod roundtrip;
