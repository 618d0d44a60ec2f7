// An app with openid-client: `begin` prints the authorization URL, and `finish` the results after the redirect.
import * as oauth from "openid-client";

const [step, input] = [process.argv[2], JSON.parse(process.argv[3])];
const execute = [oauth.allowInsecureRequests]; // the test's server has no TLS
const options = { algorithm: "oauth2", execute };
const server = await oauth.discovery(new URL(input.server), input.client_id, input.client_secret, undefined, options);

if (step === "begin") {
  const verifier = oauth.randomPKCECodeVerifier();
  const address = oauth.buildAuthorizationUrl(server, {
    redirect_uri: input.redirect_uri,
    scope: input.scope,
    state: input.state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  });
  console.log(JSON.stringify({ address, verifier }));
} else {
  const checks = { pkceCodeVerifier: input.verifier, expectedState: input.state };
  const first = await oauth.authorizationCodeGrant(server, new URL(input.called), checks);
  const second = await oauth.refreshTokenGrant(server, first.refresh_token);
  const me = new URL(`${input.server}/v1/auth/me`);
  const read = await oauth.fetchProtectedResource(server, second.access_token, me, "GET");
  await oauth.tokenRevocation(server, second.refresh_token);
  const ended = await oauth.refreshTokenGrant(server, second.refresh_token).catch((error) => error.error);
  const again = await oauth.authorizationCodeGrant(server, new URL(input.called), checks).catch((error) => error.error);
  console.log(JSON.stringify({ scope: second.scope, read: read.status, ended, again }));
}
