/*
 * The client of discreet's local privacy, for browsers and Node: one file, no dependencies.
 *
 * It reads the JSON of a task (frequencies or a bit, as task.to_json() wrote it in Python) and randomises one person's answer
 * before it leaves the device:
 *
 *     <script src="discreet-client.js"></script>                                    a classic script, or
 *     import "./discreet-client.js"                                                 a module: both set globalThis.discreet
 *     const discreet = require("./discreet-client.js")                              Node
 *
 *     const task = discreet.readTask(await (await fetch("hair.task.json")).text());
 *     const report = task.randomize("red");                                         each call costs the person task.epsilon
 *     await fetch("/reports", { method: "POST", body: JSON.stringify(report) });
 *
 * The guarantee is Python's: for any two answers of one person, a report is at most e^epsilon times likelier for the one than for
 * the other. Coins are exact: 64 random bits are compared with the binary digits of the probability, which are computed in whole
 * numbers as far as they are needed. Random bits come from crypto.getRandomValues and from nowhere else. Given the same random
 * words, this file and Python make the same report. Arithmetic on large integers takes time that depends on the numbers: do not
 * let a stranger time a client to the microsecond.
 */
(function (root, make) {
  "use strict";
  const made = make(root);
  root.discreet = made;
  if (typeof module === "object" && module !== null && typeof module.exports === "object") module.exports = made;
})(globalThis, function (root) {
  "use strict";

  const VERSION = 1;
  const MOST_VALUES = 2 ** 24; // of a domain, and vectors of a projective geometry
  const LARGEST_EPSILON = 1000n;
  const PATIENCE = 2048; // random digits or rounds that a working generator never needs
  const MASK = (1n << 64n) - 1n;

  function refusal(name, message) {
    const error = new Error(message);
    error.name = name;
    return error;
  }

  function strange(what) {
    const instead = "Use what task.to_json() wrote, or a newer client.";
    return refusal("TaskRefused", `This is not a task that this client can read: ${what}. ${instead}`);
  }

  function demand(holds, what) {
    if (!holds) throw strange(what);
  }

  // ---- Random words, and exact coins made of them -----------------------------------------------------------------------

  function words(count) {
    if (!root.crypto || typeof root.crypto.getRandomValues !== "function") {
      throw refusal("EntropyError", "There is no crypto.getRandomValues here, and nothing else will do; nothing was randomised.");
    }
    const drawn = [];
    while (drawn.length < count) {
      const some = new BigUint64Array(Math.min(count - drawn.length, 8192)); // 64 KB is the most that one call gives
      root.crypto.getRandomValues(some);
      for (const word of some) drawn.push(word);
    }
    return drawn;
  }

  const word = () => words(1)[0];

  /** Whole lower and upper bounds of e^(num / den) 2^work, for 0 < num / den <= 1000; also work, which is at least bits. */
  function exponential(num, den, bits) {
    const work = bits + 32n;
    let halvings = 0n;
    while (num > den << halvings) halvings += 1n;
    const argument = (num << work) / (den << halvings); // at most 1
    let [low, high] = [1n << work, 1n << work];
    for (let term = low, n = 1n; term > 0n; n += 1n) {
      term = ((term * argument) >> work) / n;
      low += term;
    }
    let term = high;
    for (let n = 1n; term > 4n; n += 1n) {
      term = (((term * (argument + 1n)) >> work) + 1n) / n + 1n;
      high += term;
    }
    high += term; // the rest of the series is at most as large as its last term
    for (; halvings > 0n; halvings -= 1n) {
      low = (low * low) >> work;
      high = ((high * high) >> work) + 1n;
    }
    return [low, high, work];
  }

  /** floor(p 2^count) for an irrational p, whose bounds rise with the precision until they agree; remembered. */
  function digitsOf(epsilon, floors) {
    const known = new Map();
    return function digits(count) {
      for (let bits = BigInt(count) + 64n; !known.has(count); bits *= 2n) {
        const [low, high, work] = exponential(epsilon.num, epsilon.den, bits);
        const [one, other] = [floors(low, work, BigInt(count)), floors(high, work, BigInt(count))];
        if (one === other) known.set(count, one);
      }
      return known.get(count);
    };
  }

  /** The chance inside e^epsilon / (inside e^epsilon + outside) of one of the likely reports. */
  function likely(inside, outside, epsilon) {
    const [a, b] = [BigInt(inside), BigInt(outside)];
    return digitsOf(epsilon, (e, work, count) => ((a * e) << count) / (a * e + (b << work)));
  }

  /** The chance 1 / (e^epsilon + 1) of a bit that is not the own one. */
  function lie(epsilon) {
    return digitsOf(epsilon, (e, work, count) => (1n << (work + count)) / ((1n << work) + e));
  }

  /** Coins that are true with the probability whose digits these are: uniform digits are compared with them until they differ. */
  function coins(digits, count) {
    return words(count).map((first) => {
      let drawn = first;
      for (let known = 64; known < PATIENCE; known += 64) {
        const bound = digits(known);
        if (drawn !== bound) return drawn < bound;
        drawn = (drawn << 64n) | word();
      }
      throw refusal("EntropyError", "Two thousand random bits did not settle one coin; the generator cannot be working.");
    });
  }

  const coin = (digits) => coins(digits, 1)[0];

  /** Uniform on 0 .. below - 1, for below up to 2^31: words are cut to its length, and those too large are drawn again. */
  function uniform(below) {
    const mask = (1n << BigInt(below > 1 ? 32 - Math.clz32(below - 1) : 0)) - 1n;
    for (let round = 0; round < PATIENCE; round += 1) {
      const drawn = Number(word() & mask);
      if (drawn < below) return drawn;
    }
    throw refusal("EntropyError", "Two thousand random words did not settle one draw; the generator cannot be working.");
  }

  // ---- Protocols: a number of a value becomes a report ------------------------------------------------------------------

  const except = (drawn, own) => drawn + (drawn >= own ? 1 : 0);

  function kAry(size, epsilon) {
    const truth = likely(1, size - 1, epsilon);
    return function (code) {
      const honest = coin(truth);
      const other = except(uniform(size - 1), code);
      return honest ? code : other;
    };
  }

  function randomizedResponse(size, epsilon) {
    demand(size === 2, "randomized response is for two values");
    return kAry(size, epsilon);
  }

  function subset(size, epsilon, { weight }) {
    demand(weight >= 1 && weight < size, "a subset has 1 to size - 1 values");
    const truth = likely(weight, size - weight, epsilon);
    const listed = weight * bitLength(size - 1) < size;
    return function (code) {
      const inside = coin(truth);
      const leaving = uniform(weight);
      const taken = new Set(); // keeps the order of drawing (Floyd's algorithm)
      for (let last = size - 1 - weight; last < size - 1; last += 1) {
        const drawn = uniform(last + 1);
        taken.add(taken.has(drawn) ? last : drawn);
      }
      const chosen = [...taken].map((drawn) => except(drawn, code));
      if (inside) chosen[leaving] = code;
      if (listed) return chosen.sort((a, b) => a - b);
      return packed(size, (bits) => chosen.forEach((place) => bits(place)));
    };
  }

  function projective(size, epsilon, { prime, dimension }) {
    demand(prime >= 2 && prime <= 4096 && !divisible(prime), "the field of a projective geometry is prime");
    demand(dimension >= 2 && dimension <= 24 && prime ** dimension <= MOST_VALUES, "the projective geometry is too large");
    const points = (prime ** dimension - 1) / (prime - 1);
    demand(points >= size, "the projective geometry has too few points");
    const near = (prime ** (dimension - 1) - 1) / (prime - 1);
    const truth = likely(near, points - near, epsilon);
    const free = prime ** (dimension - 1);
    return function (code) {
      const on = coin(truth);
      const [at, off] = [uniform(free - 1) + 1, uniform(free)];
      return meeting(code, on ? at : off, on ? 0 : 1, prime, dimension);
    };
  }

  /** The number of the point u with <u, v> = product for the point v of this code; the t - 1 other coordinates are free. */
  function meeting(code, free, product, prime, dimension) {
    let place = 0;
    while ((prime ** (place + 1) - 1) / (prime - 1) <= code) place += 1;
    const unit = prime ** place;
    let own = code - (unit - 1) / (prime - 1); // v's coordinates below its highest one, which is 1
    const high = Math.floor(free / unit);
    const low = free % unit;
    let total = 0;
    for (let left = low; left > 0; left = Math.floor(left / prime)) {
      total += (left % prime) * (own % prime);
      own = Math.floor(own / prime);
    }
    const solved = (((product - total) % prime) + prime) % prime;
    const vector = low + (solved + high * prime) * unit;
    let top = 0;
    while (prime ** (top + 1) <= vector) top += 1;
    const lead = Math.floor(vector / prime ** top);
    let inverse = 1;
    while ((inverse * lead) % prime !== 1) inverse += 1;
    let written = 0;
    for (let at = top; at >= 0; at -= 1) {
      const digit = Math.floor(vector / prime ** at) % prime;
      written = written * prime + ((digit * inverse) % prime);
    }
    return written - prime ** top + (prime ** top - 1) / (prime - 1);
  }

  function unary(size, epsilon) {
    const chance = lie(epsilon);
    const byte = chance(8);
    const rest = (count) => chance(count + 8) - (byte << BigInt(count));
    return function (code) {
      const drawn = words(Math.ceil(size / 8));
      const ties = [];
      return packed(size, (bits) => {
        for (let place = 0; place < size; place += 1) {
          const here = (drawn[place >> 3] >> BigInt(8 * (place & 7))) & 255n;
          if (here < byte) bits(place);
          else if (here === byte) ties.push(place);
        }
        coins(rest, ties.length).forEach((set, tie) => set && bits(ties[tie]));
        bits(code, word() < 1n << 63n);
      });
    };
  }

  function hashing(size, epsilon, { buckets }) {
    demand(buckets >= 2 && buckets <= 2 ** 31, "hashing needs 2 to 2^31 buckets");
    const truth = likely(1, buckets - 1, epsilon);
    return function (code) {
      const seed = word();
      const own = bucket(seed, BigInt.asUintN(64, BigInt(code)), BigInt(buckets));
      const honest = coin(truth);
      const other = except(uniform(buckets - 1), own);
      return [seed.toString(16).padStart(16, "0"), honest ? own : other];
    };
  }

  function bucket(seed, key, buckets) {
    const [first, second, shift] = [1n, 2n, 3n].map((step) => splitMix(seed, step));
    const mixed = ((first * (key >> 32n) + second * (key & 0xffffffffn) + shift) & MASK) >> 32n;
    return Number((mixed * buckets) >> 32n);
  }

  function splitMix(seed, step) {
    let mixed = (seed + step * 0x9e3779b97f4a7c15n) & MASK;
    mixed = ((mixed ^ (mixed >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
    mixed = ((mixed ^ (mixed >> 27n)) * 0x94d049bb133111ebn) & MASK;
    return mixed ^ (mixed >> 31n);
  }

  function packed(size, fill) {
    const bytes = new Uint8Array(Math.ceil(size / 8));
    fill((place, set = true) => {
      const mark = 1 << (place & 7);
      bytes[place >> 3] = set ? bytes[place >> 3] | mark : bytes[place >> 3] & ~mark;
    });
    let text = "";
    for (const byte of bytes) text += String.fromCharCode(byte);
    return root.btoa(text);
  }

  const bitLength = (number) => 32 - Math.clz32(number);

  function divisible(number) {
    for (let divisor = 2; divisor * divisor <= number; divisor += 1) if (number % divisor === 0) return true;
    return false;
  }

  const PROTOCOLS = new Map([
    ["randomized response", [randomizedResponse, []]],
    ["k-ary", [kAry, []]],
    ["subset", [subset, ["weight"]]],
    ["projective", [projective, ["prime", "dimension"]]],
    ["unary", [unary, []]],
    ["hashing", [hashing, ["buckets"]]],
  ]);

  // ---- Domains: what a person may answer, and the fate of any other answer ----------------------------------------------

  const LONE = /[\ud800-\udfff]/u; // half of a pair of surrogates has no UTF-8
  const isText = (value) => typeof value === "string" && !LONE.test(value);
  const isItem = (value) => isText(value) || typeof value === "boolean" || Number.isSafeInteger(value);

  /** Equal for what Python calls equal: true is 1. */
  function mark(value) {
    if (typeof value === "string") return `"${value}`;
    return ["number", "boolean", "bigint"].includes(typeof value) ? String(Number(value) + 0) : null;
  }

  /** How many values a domain has (0 for any text), and the number of a value, or null where it is outside. */
  function readDomain(facts) {
    demand(isObject(facts) && Object.keys(facts).length === 2 && "missing" in facts, "its domain is not one");
    if (facts.text === true) return { size: 0, code: (value) => (isText(value) ? keyOf(value) : null) };
    if (Array.isArray(facts.range)) return readRange(facts.range);
    const items = facts.values;
    demand(Array.isArray(items) && items.every(isItem), "its domain is not a list of words, whole numbers or truth values");
    const places = new Map(items.map((item, place) => [mark(item), place]));
    const listed = places.size === items.length && items.length >= 2 && items.length <= MOST_VALUES;
    demand(listed, "its domain has too few, too many or repeated values");
    return { size: items.length, code: (value) => places.get(mark(value)) ?? null };
  }

  function readRange(range) {
    demand(range.length === 3 && range.every(Number.isSafeInteger) && range[2] !== 0, "its range is not start, stop and step");
    const [start, stop, step] = range.map(BigInt);
    const length = (stop - start + step - (step > 0n ? 1n : -1n)) / step;
    demand(length >= 2n && length <= BigInt(MOST_VALUES), "its range has too few or too many values");
    return {
      size: Number(length),
      code(value) {
        const number = mark(value) === null || typeof value === "string" ? NaN : Number(value);
        if (!Number.isSafeInteger(number)) return null;
        const distance = BigInt(number) - start;
        return distance % step === 0n && distance / step >= 0n && distance / step < length ? Number(distance / step) : null;
      },
    };
  }

  /** A value's number, or that of the declared fate of values outside. */
  function settler(domain, missing) {
    if (missing === "refuse") {
      return function (value) {
        const code = domain.code(value);
        if (code !== null) return code;
        throw refusal("ValueRefused", "The answer is outside the task's domain, which the task refuses: send nothing.");
      };
    }
    if (missing === "random") {
      return function (value) {
        const drawn = domain.size ? uniform(domain.size) : word(); // for everybody: the work does not tell who was outside
        return domain.code(value) ?? drawn;
      };
    }
    const fate = isObject(missing) && Object.keys(missing).join() === "value" ? missing.value : null;
    const instead = isItem(fate) && fate !== "refuse" && fate !== "random" ? domain.code(fate) : null;
    demand(instead !== null, "the fate of other answers is none that it knows");
    return (value) => domain.code(value) ?? instead;
  }

  /** The first 64 bits of a text's SHA-256. */
  const keyOf = (text) => BigInt(`0x${sha256(text).slice(0, 16)}`);

  // ---- Tasks ------------------------------------------------------------------------------------------------------------

  const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

  /** The task of this JSON (text, or an object that was parsed from it), checked in full; unknown versions are refused. */
  function readTask(json) {
    let facts;
    try {
      facts = JSON.parse(typeof json === "string" ? json : JSON.stringify(json));
    } catch {
      throw strange("it is not JSON");
    }
    demand(isObject(facts) && facts.discreet === "local task", "it is no task of local privacy");
    demand(facts.version === VERSION, `it reads version ${VERSION} only`);
    demand(facts.kind === "frequencies" || facts.kind === "bit", "it randomises for the kinds frequencies and bit only");
    const names = ["discreet", "domain", "epsilon", "kind", "period", "protocol", "question", "version"];
    demand(Object.keys(facts).sort().join() === names.join(), "it has other fields than a task");
    demand(isText(facts.question) && isText(facts.period), "question and period are texts");
    const epsilon = readEpsilon(facts.epsilon);
    const domain = readDomain(facts.domain);
    const settle = settler(domain, facts.domain.missing);
    const draw = readProtocol(facts.protocol, domain.size, epsilon);
    const hash = sha256(canonical(facts));

    /** One report for one person's answer; a nonce is a random mark by which a collector finds duplicates. */
    function randomize(value, { nonce = false } = {}) {
      const report = { v: VERSION, task: hash, r: draw(settle(value)) };
      if (nonce) report.nonce = words(2).map(littleEndian).join("");
      return report;
    }

    const { kind, question, period } = facts;
    return Object.freeze({ hash, kind, question, period, epsilon: facts.epsilon, protocol: facts.protocol.name, randomize });
  }

  function readProtocol(facts, size, epsilon) {
    demand(isObject(facts) && PROTOCOLS.has(facts.name), "its protocol is unknown");
    const [make, names] = PROTOCOLS.get(facts.name);
    const given = Object.keys(facts).filter((name) => name !== "name").sort();
    const whole = names.every((name) => Number.isSafeInteger(facts[name]));
    demand(whole && given.join() === [...names].sort().join(), "its protocol has other parameters");
    demand(size > 0 || make === hashing, "any text can be asked for by hashing alone");
    return make(size, epsilon, facts);
  }

  function readEpsilon(text) {
    const parts = typeof text === "string" && text.length <= 2000 ? /^([1-9][0-9]*)(?:\/([1-9][0-9]*))?$/.exec(text) : null;
    demand(parts !== null && parts[2] !== "1", "epsilon is not a fraction above 0");
    const [num, den] = [BigInt(parts[1]), BigInt(parts[2] ?? 1)];
    let [a, b] = [num, den];
    while (b > 0n) [a, b] = [b, a % b];
    demand(a === 1n, "epsilon is not in lowest terms");
    demand(num <= LARGEST_EPSILON * den, `epsilon is above ${LARGEST_EPSILON}`);
    return { num, den };
  }

  /** JSON with one spelling only: keys in order, no spaces. */
  function canonical(value) {
    if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
    if (!isObject(value)) return JSON.stringify(value);
    return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
  }

  function littleEndian(number) {
    return number.toString(16).padStart(16, "0").match(/../g).reverse().join("");
  }

  // ---- SHA-256 (FIPS 180-4); the browser's own is for secure pages only, and cannot be waited for here -------------------

  const ROUNDS = [];
  const START = [];
  for (let prime = 2; ROUNDS.length < 64; prime += 1) {
    if (divisible(prime)) continue;
    if (START.length < 8) START.push(fraction(prime, 2n));
    ROUNDS.push(fraction(prime, 3n));
  }

  /** The first 32 bits of the fractional part of a prime's square or cube root. */
  function fraction(prime, degree) {
    const power = BigInt(prime) << (32n * degree);
    let root = 0n;
    for (let bit = 1n << 42n; bit > 0n; bit >>= 1n) if ((root + bit) ** degree <= power) root += bit;
    return Number(root & 0xffffffffn);
  }

  function sha256(text) {
    const bytes = new TextEncoder().encode(text);
    const blocks = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64);
    blocks.set(bytes);
    blocks[bytes.length] = 0x80;
    const view = new DataView(blocks.buffer);
    view.setBigUint64(blocks.length - 8, BigInt(bytes.length) * 8n);
    const state = Uint32Array.from(START);
    const turned = (x, by) => (x >>> by) | (x << (32 - by));
    const w = new Uint32Array(64);
    for (let at = 0; at < blocks.length; at += 64) {
      for (let i = 0; i < 64; i += 1) {
        if (i < 16) {
          w[i] = view.getUint32(at + 4 * i);
          continue;
        }
        const [x, y] = [w[i - 15], w[i - 2]];
        w[i] = w[i - 16] + (turned(x, 7) ^ turned(x, 18) ^ (x >>> 3)) + w[i - 7] + (turned(y, 17) ^ turned(y, 19) ^ (y >>> 10));
      }
      let [a, b, c, d, e, f, g, h] = state;
      for (let i = 0; i < 64; i += 1) {
        const one = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + ROUNDS[i] + w[i]) >>> 0;
        const two = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) >>> 0;
        [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) >>> 0, c, b, a, (one + two) >>> 0];
      }
      [a, b, c, d, e, f, g, h].forEach((x, i) => (state[i] += x));
    }
    return [...state].map((x) => x.toString(16).padStart(8, "0")).join("");
  }

  return Object.freeze({ readTask, version: VERSION });
});
