// Sends twelve requests through openapi-fetch, with the types of openapi-typescript: `golden-fetch.ts ADDRESS KEY`.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import createClient from "openapi-fetch";
import type { paths } from "./paths-platform";

const [baseUrl, key] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { "X-API-Key": key } });
let calls = 0;

function done<T>(answer: { data?: T; response: Response; error?: unknown }, status: number): T {
  assert.equal(answer.response.status, status, JSON.stringify(answer.error));
  assert.ok(answer.data !== undefined);
  calls += 1;
  return answer.data;
}

assert.equal(done(await client.GET("/v1/health"), 200).status, "healthy");
const me = done(await client.GET("/v1/auth/me"), 200);
const offer = done(
  await client.POST("/v1/provider-offers", {
    params: { header: { "Idempotency-Key": randomUUID() } },
    body: { provider_id: "7003", name: "Everyday loan", product_type: "personal_loan", apr_min_percent: 9.5, term_options_months: [12, 24] },
  }),
  201,
);
const ofOffer = { offer_id: offer.id };
assert.deepEqual(done(await client.GET("/v1/provider-offers/{offer_id}", { params: { path: ofOffer } }), 200).term_options_months, [12, 24]);
const terms = { amount_cents: 100_000, term_months: 12 };
const quote = done(await client.GET("/v1/provider-offers/{offer_id}/quote", { params: { path: ofOffer, query: terms } }), 200);
assert.equal(quote.schedule.length, 12);
const created = done(
  await client.POST("/v1/applications", {
    params: { header: { "Idempotency-Key": randomUUID() } },
    body: { consumer_id: String(me.id), offer_id: Number(offer.id), provider_id: 7003, application_data: { a: [1, null] } },
  }),
  201,
);
const path = { application_id: created.id };
const applicationPath = "/v1/applications/{application_id}" as const;
assert.equal(done(await client.GET(applicationPath, { params: { path } }), 200).status, "draft");
assert.equal(done(await client.PUT(applicationPath, { params: { path }, body: { updated_by: "me", notes: "Two members" } }), 200).notes, "Two members");
const moved = await client.PUT(`${applicationPath}/status`, { params: { path }, body: { status: "submitted", updated_by: "me" } });
assert.equal(done(moved, 200).status, "submitted");
assert.equal(done(await client.GET(`${applicationPath}/history`, { params: { path } }), 200).history.length, 1);
assert.equal(done(await client.GET(`${applicationPath}/transitions`, { params: { path } }), 200).status, "submitted");
assert.ok(done(await client.GET("/v1/applications", { params: { query: { limit: 5 } } }), 200).some((application) => application.id === created.id));
const rejected = await client.GET(applicationPath, { params: { path: { application_id: "none" } } });
assert.equal((rejected.error as { code: string }).code, "E4002");
console.log(`${calls} calls`);
