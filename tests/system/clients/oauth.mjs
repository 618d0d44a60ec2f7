// What an app does with openid-client: `begin` prints where to send the person, `finish` what came of the call back.
import * as oauth from "openid-client";

const [step, told] = [process.argv[2], JSON.parse(process.argv[3])];
const execute = [oauth.allowInsecureRequests]; // of the test's server, which has no TLS
const options = { algorithm: "oauth2", execute };
const server = await oauth.discovery(new URL(told.server), told.client_id, told.client_secret, undefined, options);

if (step === "begin") {
  const verifier = oauth.randomPKCECodeVerifier();
  const address = oauth.buildAuthorizationUrl(server, {
    redirect_uri: told.redirect_uri,
    scope: told.scope,
    state: told.state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  });
  console.log(JSON.stringify({ address, verifier }));
} else {
  const checks = { pkceCodeVerifier: told.verifier, expectedState: told.state };
  const first = await oauth.authorizationCodeGrant(server, new URL(told.called), checks);
  const second = await oauth.refreshTokenGrant(server, first.refresh_token);
  const me = new URL(`${told.server}/v1/auth/me`);
  const read = await oauth.fetchProtectedResource(server, second.access_token, me, "GET");
  await oauth.tokenRevocation(server, second.refresh_token);
  const ended = await oauth.refreshTokenGrant(server, second.refresh_token).catch((error) => error.error);
  const again = await oauth.authorizationCodeGrant(server, new URL(told.called), checks).catch((error) => error.error);
  console.log(JSON.stringify({ scope: second.scope, read: read.status, ended, again }));
}
