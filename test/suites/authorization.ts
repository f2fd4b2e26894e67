// Sends the requests of the differential authorization test to an API server that asks a recording webhook, and tells what came of each.

import { definitions, type Seed, seeds } from "../fixtures/authorization/seed.ts";
import type { NamedRequest } from "../fixtures/authorization/request.ts";
import type { AuthorizationServer } from "../harness/authorization-server.ts";
import type { AuthorizationWebhook } from "../harness/authorization-webhook.ts";
import type { RawHttp } from "../harness/raw-http.ts";
import { until } from "../harness/until.ts";

export const tester = "tester";

/** What became of one request. */
interface Outcome {
  /** The attributes that the webhook was asked for, in order, where it allows everything; and the answer's status. */
  readonly asked: readonly string[];
  readonly status: number;
  /** The statuses where it refuses the first question, then where it refuses the second, and so on. */
  readonly refused: readonly number[];
  /** What was asked where it refuses the first question. */
  readonly askedWhenRefused: readonly string[];
}

/** An outcome in the table: what was asked, the status, the statuses of refusals, and what was asked then where that is not the first. */
export type OutcomeRow = readonly [string[], number, number[], string[]?];

function rowOf({ asked, status, refused, askedWhenRefused }: Outcome): OutcomeRow {
  const isFirst = askedWhenRefused.length <= 1 && askedWhenRefused[0] === asked[0];
  return [[...asked], status, [...refused], ...(isFirst ? [] : [[...askedWhenRefused]])] as unknown as OutcomeRow;
}

export async function seed(admin: RawHttp, list: readonly Seed[]): Promise<void> {
  for (const { path, object } of list) {
    const place = `${object.kind} ${object.metadata.name}`;
    await until(
      `${place} to be created`,
      async () => {
        const { status, body } = await admin.ask({ method: "POST", target: path, body: object });
        if (status !== 201 && status !== 409) throw new Error(`${status} ${body.slice(0, 500)}`);
        return true;
      },
      20_000,
    );
  }
}

async function prepare({ admin }: AuthorizationServer): Promise<void> {
  await seed(admin, definitions);
  for (const { object } of definitions)
    await until(`${object.metadata.name} to be served`, async () => {
      const target = `/apis/${object.spec.group}/v1/${object.spec.names.plural}`;
      return (await admin.ask({ method: "GET", target })).status === 200;
    });
  await seed(admin, seeds);
}

/** Sends all requests in order; the server has nothing but the seeds. */
export async function outcomesOf(
  server: AuthorizationServer,
  webhook: AuthorizationWebhook,
  requests: readonly NamedRequest[],
): Promise<Map<string, OutcomeRow>> {
  await prepare(server);
  const client = server.client(tester);
  const rows = new Map<string, OutcomeRow>();
  for (const request of requests) rows.set(request.name, rowOf(await outcomeOf(client, webhook, request)));
  return rows;
}

/** Each refused before it is allowed: what refusals leave behind would be seen in the answers. */
async function outcomeOf(client: RawHttp, webhook: AuthorizationWebhook, request: NamedRequest): Promise<Outcome> {
  const send = async (allowed: number) => {
    webhook.allow(allowed);
    webhook.taken();
    const { status } = await client.ask(request);
    return { status, asked: webhook.taken() };
  };
  const first = await send(0);
  const refused = [first.status];
  // Refusing the second question, then the third, until there is none to refuse.
  for (let count = 1; ; count++) {
    const next = await send(count);
    if (next.asked.length <= count) return { ...next, refused, askedWhenRefused: first.asked };
    refused.push(next.status);
  }
}
