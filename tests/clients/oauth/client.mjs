// The TypeScript SDK's client with its OAuth: finds the authorization server from the host's 401, registers, logs in, and lists.
//   node client.mjs URL [SCOPE …]
// Says on stdout, as JSON, what it found: the URIs, and what it was told on the way.
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';

const REDIRECT = 'http://127.0.0.1:1/callback';
const HOPS = 20;
const [url, ...scopes] = process.argv.slice(2);

const kept = {};
const authProvider = {
  // The server that was found first is the one that the code is for (SEP-2352).
  saveDiscoveryState: (state) => void (kept.discovery = state),
  discoveryState: () => kept.discovery,
  redirectUrl: REDIRECT,
  clientMetadata: {
    client_name: 'wharf-tests',
    redirect_uris: [REDIRECT],
    application_type: 'native',
    grant_types: ['authorization_code'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
  },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => void (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => void (kept.tokens = tokens),
  codeVerifier: () => kept.verifier,
  saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
  redirectToAuthorization: (to) => void (kept.authorization = to),
};

// What a browser does, up to the client's own address.
async function browse(to) {
  const cookies = new Map();
  for (let hop = 0; hop < HOPS; hop++) {
    if (to.href.startsWith(REDIRECT)) return to.searchParams;
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(to, { redirect: 'manual', headers: { cookie } });
    for (const set of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(set);
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (!location) throw new Error(`${to}: ${response.status} ${await response.text()}`);
    to = new URL(location, to);
  }
  throw new Error('redirected in circles');
}

const connect = async () => {
  const client = new Client({ name: 'wharf-tests', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
  try {
    await client.connect(transport);
    return { client };
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    return { transport };
  }
};

let { client, transport } = await connect();
const wanted = kept.authorization?.searchParams;
if (!client) {
  // A scope that was asked for by hand stands in the place of those that the host names.
  if (scopes.length > 0) kept.authorization.searchParams.set('scope', scopes.join(' '));
  await transport.finishAuth(await browse(kept.authorization));
  ({ client } = await connect());
}
const claims = JSON.parse(Buffer.from(kept.tokens.access_token.split('.')[1], 'base64url'));
const report = { scope: wanted?.get('scope'), resource: wanted?.get('resource'), claims };
try {
  if (!client) throw new Error('not let in, and sent for another token');
  const { resources } = await client.listResources();
  report.uris = resources.map(({ uri }) => uri);
  const [first] = report.uris;
  report.read = (await client.readResource({ uri: first })).contents.length;
  await client.close();
} catch (error) {
  report.error = String(error);
}
console.log(JSON.stringify(report));
process.exit(0);
