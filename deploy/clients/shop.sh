#!/bin/sh
# A decision and its reward with curl: sh shop.sh http://127.0.0.1:8000 shop [TOKEN]
# A repeated request with the same event_id is the same decision, so --retry is safe.
set -eu
base="$1/v1/agents/$2"
post() {
    curl --silent --show-error --fail-with-body --max-time 5 --retry 2 --retry-all-errors \
        --header "Content-Type: application/json" --header "Authorization: Bearer ${3:-none}" \
        --data "$2" "$base/$1"
    echo
}
event="order-$$-$(date +%s)"
post decide "{\"event_id\":\"$event\",\"unit\":\"user-42\",\"context\":{\"city\":\"Oslo\"},
  \"actions\":{\"tea\":{},\"figs\":{},\"honey\":{}},\"baseline\":\"tea\"}" "${3:-}"
post reward "{\"event_id\":\"$event\",\"reward\":12.5}" "${3:-}"
