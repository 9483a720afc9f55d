// A real authorization server, oidc-provider, on a free port of this machine. Whoever comes is logged in as `ann`, and gets the scopes that
// were asked for: what is tried here is what follows. Says where it is on stdout; ends with its stdin.
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';

const SCOPES = 'wharf docs code';

const server = createServer();
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      // A resource has the tokens it is asked for: RFC 8707, RFC 9068.
      getResourceServerInfo: (_context, resource) => ({
        scope: SCOPES,
        audience: resource,
        accessTokenFormat: 'jwt',
        accessTokenTTL: 300,
        jwt: { sign: { alg: 'RS256' } },
      }),
      useGrantedResource: () => true,
    },
  },
  clientDefaults: { token_endpoint_auth_method: 'none' },
  findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
  interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
  scopes: SCOPES.split(' '),
});

async function interact(request, response) {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (prompt.name === 'login') {
    return provider.interactionFinished(request, response, { login: { accountId: 'ann' } });
  }
  const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  for (const [resource, scopes] of Object.entries(prompt.details.missingResourceScopes ?? {})) {
    grant.addResourceScope(resource, scopes.join(' '));
  }
  if (prompt.details.missingOIDCScope) grant.addOIDCScope(prompt.details.missingOIDCScope.join(' '));
  return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
}

const answer = provider.callback();
server.on('request', (request, response) => {
  if (!request.url.startsWith('/interaction/')) return answer(request, response);
  interact(request, response).catch((error) => {
    response.statusCode = 500;
    response.end(String(error));
  });
});

console.log(issuer);
process.stdin.on('end', () => process.exit(0)).resume();
