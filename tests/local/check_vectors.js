/* Holds the JavaScript client to the vectors that Python made. Runs in Node and in browsers. */
(function (root) {
  "use strict";

  /** Run with exactly these words as the generator's, and say how many were left. */
  function replay(words, run) {
    let place = 0;
    const given = (array) => {
      for (let i = 0; i < array.length; i += 1, place += 1) {
        if (place >= words.length) throw new Error("the recording ran out");
        array[i] = BigInt(`0x${words[place]}`);
      }
      return array;
    };
    Object.defineProperty(root.crypto, "getRandomValues", { value: given, configurable: true });
    try {
      return { result: run(), left: words.length - place };
    } finally {
      delete root.crypto.getRandomValues; // the real one is the prototype's
    }
  }

  function checkCase(task, { value, nonce, words, report, refused }) {
    if (refused) {
      try {
        replay([], () => task.randomize(value));
      } catch (error) {
        return error.name === "ValueRefused" ? null : `refused with ${error}`;
      }
      return "was not refused";
    }
    const { result, left } = replay(words, () => task.randomize(value, { nonce }));
    if (JSON.stringify(result) !== report) return `reported ${JSON.stringify(result)}, not ${report}`;
    return left ? `left ${left} words` : null;
  }

  /** How many vectors were checked, and sentences about those that failed. */
  root.checkVectors = function (discreet, { vectors, hashes }) {
    const failures = [];
    let checked = 0;
    const check = (name, run) => {
      checked += 1;
      try {
        const problem = run();
        if (problem) failures.push(`${name}: ${problem}`);
      } catch (error) {
        failures.push(`${name}: ${error.stack}`);
      }
    };
    for (const [text, hash] of [...hashes, ...vectors.map((one) => [one.task, one.hash])]) {
      check(text, () => (discreet.readTask(text).hash === hash ? null : "has another hash"));
      check(text, () => (discreet.readTask(JSON.parse(text)).hash === hash ? null : "has another hash as an object"));
    }
    for (const { task, cases } of vectors) {
      const read = discreet.readTask(task);
      cases.forEach((one, number) => check(`${task} case ${number}`, () => checkCase(read, one)));
    }
    return { checked, failures };
  };
})(globalThis);
