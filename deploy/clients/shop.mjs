// A client of the decision service in Node 18 or newer, without packages.
//
//     node shop.mjs http://127.0.0.1:8000 shop
import { randomUUID } from "node:crypto";

export class Client {
  constructor(url, agent, { token, timeout = 250, retries = 2 } = {}) {
    this.base = `${url}/v1/agents/${agent}`;
    this.headers = { "Content-Type": "application/json" };
    if (token) this.headers.Authorization = `Bearer ${token}`;
    Object.assign(this, { timeout, retries });
  }

  // A decision; the baseline if the service does not answer in time.
  async decide(actions, { context, unit, baseline = Object.keys(actions)[0], eventId = randomUUID() } = {}) {
    try {
      return await this.post("decide", { actions, context, unit, baseline, event_id: eventId });
    } catch (error) {
      if (error.status >= 400 && error.status < 500 && error.status !== 429) throw error;
      return { action: baseline, event_id: eventId, ticket: null, recorded: false };
    }
  }

  // "applied", "duplicate" or "late"; "unrecorded" if the decision was the baseline of a failure.
  async reward(decision, reward) {
    if (decision.ticket === null) return "unrecorded";
    return (await this.post("reward", { ticket: decision.ticket, reward })).outcome;
  }

  // Repeats a request that failed: the event_id or the ticket makes it the same one for the service.
  async post(operation, body) {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.send(operation, body);
      } catch (error) {
        const final = error.status && error.status < 500 && error.status !== 429;
        if (final || attempt === this.retries) throw error;
        await new Promise((done) => setTimeout(done, 50 * 2 ** attempt * (0.5 + Math.random())));
      }
    }
  }

  async send(operation, body) {
    const answer = await fetch(`${this.base}/${operation}`, {
      method: "POST",
      headers: this.headers,
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(this.timeout),
    });
    const found = await answer.json();
    if (!answer.ok) throw Object.assign(new Error(found.detail), { status: answer.status });
    return found;
  }
}

if (process.argv[2]) {
  const client = new Client(process.argv[2], process.argv[3], { token: process.argv[4], timeout: 5000 });
  const made = await client.decide({ tea: {}, figs: {}, honey: {} }, { context: { city: "Oslo" }, unit: "user-42" });
  console.log(JSON.stringify({ ...made, outcome: await client.reward(made, 12.5) }));
}
