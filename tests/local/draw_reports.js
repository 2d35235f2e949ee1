/* Reads jobs from standard input and writes what the JavaScript client says to each: reports, or the name of its refusal. */
"use strict";
const discreet = require(process.argv[2]);
const jobs = JSON.parse(require("fs").readFileSync(0, "utf8"));

Math.random = () => {
  throw new Error("Math.random was called");
};

// Newer Nodes have Web Locks, to which all the storages of one name below would be one ledger.
if (globalThis.navigator) Object.defineProperty(globalThis.navigator, "locks", { value: undefined });

const sentence = (error) => `${error.name}: ${error.message}`;

/** A generator that always gives this word; without a word, none at all. */
function broken(word) {
  const instead = word === null ? undefined : { getRandomValues: (array) => array.fill(BigInt(word)) };
  Object.defineProperty(globalThis, "crypto", { value: instead, configurable: true });
}

/** Reports of a task itself. */
function answer({ task, value, draws = 1, generator }) {
  const real = Object.getOwnPropertyDescriptor(globalThis, "crypto");
  try {
    if (generator !== undefined) broken(generator);
    const read = discreet.readTask(task);
    return Array.from({ length: draws }, () => JSON.stringify(read.randomize(value)));
  } catch (error) {
    return sentence(error);
  } finally {
    Object.defineProperty(globalThis, "crypto", real);
  }
}

function refuse() {
  throw new DOMException("no", "QuotaExceededError");
}

const FAULTS = {
  full: { setItem: refuse },
  closed: { getItem: refuse },
  forgetful: { setItem: () => {} },
  late: { getItem: () => Promise.resolve(null) },
  none: { getItem: undefined },
};

/** What a person's client says to each step, all at once or one after the other, and the ledger it leaves. */
async function live({ ledger = null, epsilon, name, fault, steps, together = false, lives = 1 }) {
  const kept = new Map([["discreet", ledger]]);
  const storage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, text) => kept.set(key, text), ...FAULTS[fault] };
  const said = [];
  try {
    for (let life = 0; life < lives; life += 1) {
      if (life > 0) kept.clear();
      const me = await discreet.openClient({ storage, epsilon, name });
      const step = ({ task, value, nonce }) => {
        const report = me.randomize(typeof task === "string" ? discreet.readTask(task) : task, value, { nonce });
        return report.then((made) => JSON.stringify(made), sentence);
      };
      if (together) said.push(...(await Promise.all(steps.map(step))));
      else for (const one of steps) said.push(await step(one));
    }
  } catch (error) {
    said.push(sentence(error));
  }
  return { said, ledger: kept.get(name ?? "discreet") ?? null };
}

(async () => {
  const answers = [];
  for (const job of jobs) answers.push(job.steps ? await live(job) : answer(job));
  process.stdout.write(JSON.stringify(answers));
})();
