// Fetch is how the API is reached: over a socket (platform/http-client.ts), or a handler in the same process.

export type Fetch = (request: Request) => Promise<Response>;
