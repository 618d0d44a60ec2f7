// Sends twelve requests through ./sdk-platform, the client of @hey-api/openapi-ts: `golden-sdk.ts ADDRESS KEY`.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createClient } from "./sdk-platform/client";
import * as api from "./sdk-platform";

const [baseUrl, key] = process.argv.slice(2);
const client = createClient({ baseUrl, headers: { "X-API-Key": key } });
let calls = 0;

function done<T>(answer: { data?: T; response?: Response; error?: unknown }, status: number): T {
  assert.equal(answer.response?.status, status, JSON.stringify(answer.error));
  assert.ok(answer.data !== undefined);
  calls += 1;
  return answer.data;
}

assert.equal(done(await api.healthCheck({ client }), 200).status, "healthy");
const me = done(await api.authMe({ client }), 200);
const offer = done(
  await api.offersCreate({
    client,
    headers: { "Idempotency-Key": randomUUID() },
    body: { provider_id: "7002", name: "Everyday loan", product_type: "personal_loan", apr_min_percent: 9.5, term_options_months: [12, 24] },
  }),
  201,
);
assert.deepEqual(done(await api.offersRetrieve({ client, path: { offer_id: offer.id } }), 200).term_options_months, [12, 24]);
const quote = done(await api.offersQuote({ client, path: { offer_id: offer.id }, query: { amount_cents: 100_000, term_months: 12 } }), 200);
assert.equal(quote.schedule.length, 12);
const created = done(
  await api.applicationsCreate({
    client,
    headers: { "Idempotency-Key": randomUUID() },
    body: { consumer_id: String(me.id), offer_id: Number(offer.id), provider_id: 7002, application_data: { a: [1, null] } },
  }),
  201,
);
const path = { application_id: created.id };
assert.equal(done(await api.applicationsRetrieve({ client, path }), 200).status, "draft");
assert.equal(done(await api.applicationsChange({ client, path, body: { updated_by: "me", notes: "Two members" } }), 200).notes, "Two members");
assert.equal(done(await api.applicationsMove({ client, path, body: { status: "submitted", updated_by: "me" } }), 200).status, "submitted");
assert.equal(done(await api.applicationsHistory({ client, path }), 200).history.length, 1);
assert.equal(done(await api.applicationsTransitions({ client, path }), 200).status, "submitted");
assert.ok(done(await api.applicationsList({ client, query: { limit: 5 } }), 200).some((application) => application.id === created.id));
const rejected = await api.applicationsRetrieve({ client, path: { application_id: "none" } });
assert.equal((rejected.error as { code: string }).code, "E4002");
console.log(`${calls} calls`);
