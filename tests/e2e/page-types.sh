#!/bin/bash
# The page's types of the API's answers are what the collector says of them: /openapi.json, which rest-schemas.sh holds against real answers.
. "$(dirname "$0")/lib.sh"
need node curl
"$ROOT/collector/page/api/update" --check "$BUILD" || fail "see above"
