/* Reads jobs from standard input and writes what the JavaScript client says to each: reports, or the name of its refusal. */
"use strict";
const discreet = require(process.argv[2]);
const jobs = JSON.parse(require("fs").readFileSync(0, "utf8"));

Math.random = () => {
  throw new Error("Math.random was called");
};

/** A generator that always gives this word; without a word, none at all. */
function broken(word) {
  const instead = word === null ? undefined : { getRandomValues: (array) => array.fill(BigInt(word)) };
  Object.defineProperty(globalThis, "crypto", { value: instead, configurable: true });
}

function answer({ task, value, draws = 1, generator }) {
  const real = Object.getOwnPropertyDescriptor(globalThis, "crypto");
  try {
    if (generator !== undefined) broken(generator);
    const read = discreet.readTask(task);
    return Array.from({ length: draws }, () => JSON.stringify(read.randomize(value)));
  } catch (error) {
    return `${error.name}: ${error.message}`;
  } finally {
    Object.defineProperty(globalThis, "crypto", real);
  }
}

process.stdout.write(JSON.stringify(jobs.map(answer)));
