// An OpenID Connect issuer with `oidc-provider`: node issuer.mjs PORT CLIENT_ID SECRET REDIRECT_URI LOGOUT_URI.
// `PUT /person` sets the user of the next log-in: {sub, claims, amr}. Without a sub, the issuer denies access.
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import Provider, { errors } from 'oidc-provider'

const [port, client_id, client_secret, redirect_uri, backchannel_logout_uri] = process.argv.slice(2)
const people = new Map()
let person = {}

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id,
      client_secret,
      redirect_uris: [redirect_uri],
      backchannel_logout_uri,
      backchannel_logout_session_required: true,
    },
  ],
  claims: { openid: ['sub', 'sid', 'amr'], email: ['email', 'email_verified'], groups: ['groups'] },
  conformIdTokenClaims: false,
  features: { backchannelLogout: { enabled: true }, devInteractions: { enabled: false } },
  pkce: { required: () => true },
  // The default dispatcher sends no requests to this machine.
  fetch: (url, options) => fetch(url, { ...options, dispatcher: undefined }),
  interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (_context, sub) => people.has(sub) && { accountId: sub, claims: () => ({ sub, ...people.get(sub) }) },
  async loadExistingGrant({ oidc }) {
    const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId })
    grant.addOIDCScope(oidc.params.scope)
    await grant.save()
    return grant
  },
})
const handle = provider.callback()

createServer(async (request, response) => {
  if (request.method === 'PUT') {
    person = JSON.parse(await text(request))
    if (person.sub) people.set(person.sub, person.claims)
    response.end()
  } else if (request.url.startsWith('/interaction/')) {
    const refusal = { error: 'access_denied', error_description: new errors.AccessDenied().error_description }
    const result = person.sub ? { login: { accountId: person.sub, amr: person.amr } } : refusal
    await provider.interactionFinished(request, response, result)
  } else {
    handle(request, response)
  }
}).listen(Number(port), '127.0.0.1', () => console.log('ready'))
