// The AI SDK through the package that puts its calls into universal requests, with nothing changed but where they go and what
// the fields of the gateway begin with.
import assert from "node:assert/strict";
import { generateText, streamText } from "ai";
import { AiGatewayDoesNotExist, AiGatewayUnauthorizedError, createAiGateway } from "ai-gateway-provider";
import { createDeepSeek } from "ai-gateway-provider/providers/deepseek";
import { createUnified } from "ai-gateway-provider/providers/unified";
import { createOpenAI } from "ai-gateway-provider/providers/openai";

const theirs = /^[a-z]+-aig-/;
const send = globalThis.fetch;
globalThis.fetch = async (url, init) => {
  let prefix = "";
  const fields = [...new Headers(init.headers)].map(([name, value]) => {
    prefix = theirs.exec(name)?.[0] ?? prefix;
    return [name.replace(theirs, "svc-aig-"), value];
  });
  const answer = await send(process.env.GATEWAY + new URL(url).pathname, { ...init, headers: fields });
  const told = [...answer.headers].map(([name, value]) => [name.replace("svc-aig-", prefix), value]);
  return new Response(answer.body, { status: answer.status, headers: told });
};

const account = { accountId: "acme", gateway: "main", apiKey: process.env.TOKEN };
const openai = createOpenAI({ apiKey: "openai-key" });
const deepseek = createDeepSeek({ apiKey: "deepseek-key" });
const gateway = createAiGateway({ ...account, options: { metadata: { team: "a" }, collectLog: true } });
const prompt = "hello";

const one = await generateText({ model: gateway(openai.chat("demo")), prompt });
assert.equal(one.text, "from openai");
assert.equal(one.usage.totalTokens, 29);

const parts = [];
for await (const part of streamText({ model: gateway(openai.chat("demo")), prompt }).textStream) parts.push(part);
assert.deepEqual(parts, ["from ", "a ", "stream"]);

// The first of these fails, whatever is tried; the second answers.
const fallback = await generateText({ model: gateway([openai.chat("broken"), deepseek("demo")]), prompt, maxRetries: 0 });
assert.equal(fallback.text, "from deepseek");
const first = await generateText({ model: gateway([deepseek("demo"), openai.chat("broken")]), prompt, maxRetries: 0 });
assert.equal(first.text, "from deepseek");

// The provider is named in the model, or found by a route.
const unified = createUnified({ apiKey: "openai-key" });
const named = await generateText({ model: gateway(unified("openai/demo")), prompt });
assert.equal(named.text, "from openai");
const routed = await generateText({ model: gateway([unified("dynamic/none"), unified("openai/demo")]), prompt, maxRetries: 0 });
assert.equal(routed.text, "from openai");

const refused = (model) => generateText({ model, prompt, maxRetries: 0 });
await assert.rejects(refused(createAiGateway({ ...account, apiKey: "wrong" })(openai.chat("demo"))), AiGatewayUnauthorizedError);
await assert.rejects(refused(createAiGateway({ ...account, gateway: "other" })(openai.chat("demo"))), AiGatewayDoesNotExist);
console.log("ok");
