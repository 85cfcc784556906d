// Verifies the webhooks in a file: v1 with the official library, v1a with crypto/ed25519. See ../webhook-file.ts.
package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"strings"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

type webhook struct {
	ID        string `json:"webhook-id"`
	Timestamp string `json:"webhook-timestamp"`
	Signature string `json:"webhook-signature"`
	Body      []byte `json:"body"`
	Secret    string `json:"secret"`
	PublicKey string `json:"public_key"`
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	var webhooks []webhook
	if err := json.Unmarshal(text, &webhooks); err != nil {
		panic(err)
	}
	results := make([]bool, len(webhooks))
	for i, each := range webhooks {
		if each.Secret != "" {
			results[i] = v1(each)
		} else {
			results[i] = v1a(each)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(results); err != nil {
		panic(err)
	}
}

func v1(each webhook) bool {
	verifier, err := standardwebhooks.NewWebhook(each.Secret)
	if err != nil {
		panic(err)
	}
	headers := http.Header{}
	headers.Set("webhook-id", each.ID)
	headers.Set("webhook-timestamp", each.Timestamp)
	headers.Set("webhook-signature", each.Signature)
	return verifier.Verify(each.Body, headers) == nil
}

func v1a(each webhook) bool {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(each.PublicKey, "whpk_"))
	if err != nil {
		panic(err)
	}
	content := append([]byte(each.ID+"."+each.Timestamp+"."), each.Body...)
	for _, item := range strings.Split(each.Signature, " ") {
		version, written, _ := strings.Cut(item, ",")
		signature, err := base64.StdEncoding.DecodeString(written)
		if version == "v1a" && err == nil && ed25519.Verify(key, content, signature) {
			return true
		}
	}
	return false
}
