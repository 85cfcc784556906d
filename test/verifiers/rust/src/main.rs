//! Verifies the webhooks in a file, v1 with the official library. See ../../webhook-file.ts.
use base64::{engine::general_purpose::STANDARD, Engine};
use http::HeaderMap;
use serde_json::Value;
use standardwebhooks::Webhook;

fn main() {
    let path = std::env::args().nth(1).expect("the file to verify");
    let text = std::fs::read_to_string(path).expect("the file can be read");
    let webhooks: Vec<Value> = serde_json::from_str(&text).expect("the file is JSON");
    let results: Vec<Value> = webhooks.iter().map(verify).collect();
    println!("{}", Value::from(results));
}

/// True or false; null for v1a, which the library does not know.
fn verify(webhook: &Value) -> Value {
    let Some(secret) = webhook["secret"].as_str() else {
        return Value::Null;
    };
    let mut headers = HeaderMap::new();
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        let value = webhook[name].as_str().expect("a header");
        headers.insert(name, value.parse().expect("a header's value"));
    }
    let body = STANDARD.decode(webhook["body"].as_str().expect("a body")).expect("base64");
    let verifier = Webhook::new(secret).expect("a secret");
    Value::Bool(verifier.verify(&body, &headers).is_ok())
}
