#!/bin/sh
# Asks `hilo serve` by curl: an answer, a stream, and the vectors of two texts. The argument is the server's address.
set -eu
server=${1:-http://127.0.0.1:8080}
chat=$server/v1/chat/completions
curl -sSf "$chat" -d '{"messages": [{"role": "user", "content": "What is a compiler?"}], "max_tokens": 40}'
echo
curl -sSfN "$chat" -d '{"messages": [{"role": "user", "content": "Count."}], "max_tokens": 10, "stream": true}'
curl -sSf "$server/v1/embeddings" -d '{"input": ["a text", "another one"]}' | cut -c 1-100
