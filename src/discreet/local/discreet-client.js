/*
 * The client of discreet's local privacy, for browsers and Node: one file, no dependencies.
 *
 * It reads the JSON of a task, as task.to_json() wrote it in Python, and randomises one person's answer before it leaves the
 * device. It knows every kind of task that Python has:
 *
 *     <script src="discreet-client.js"></script>                                    a classic script, or
 *     import "./discreet-client.js"                                                 a module: both set globalThis.discreet
 *     const discreet = require("./discreet-client.js")                              Node
 *
 *     const task = discreet.readTask(await (await fetch("hair.task.json")).text());
 *     const report = task.randomize("red");                                         each call costs the person task.epsilon
 *     await fetch("/reports", { method: "POST", body: JSON.stringify(report) });
 *
 * A person's own ledger adds up what all reports cost, refuses what is too much, and remembers the lies of repeated tasks:
 *
 *     const me = await discreet.openClient({ storage: localStorage, epsilon: 4 });  epsilon: the most that a lifetime may cost
 *     const report = await me.randomize(task, "red");                               paid for before it leaves
 *
 * Tasks about texts take a person's text; of one that substitutes words, task.text(report) is the text that may be shown.
 *
 * The guarantee is Python's: for any two answers of one person, a report is at most e^epsilon times likelier for the one than for
 * the other. Coins are exact: 64 random bits are compared with the binary digits of the probability, which are computed in whole
 * numbers as far as they are needed. Random bits come from crypto.getRandomValues and from nowhere else. Given the same random
 * words, this file and Python make the same report, and write the same ledger. Arithmetic on large integers takes time that
 * depends on the numbers: do not let a stranger time a client to the microsecond.
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
  const MOST_POINTS = 2 ** 25; // of an affine geometry
  const MOST_REPEATED = 2 ** 16; // of a repeated question's domain, which a client works through for every report
  const LARGEST_EPSILON = 1000n;
  const SMALLEST_EPSILON = 10n ** 100n; // its inverse
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
  function agreed(bounds) {
    const known = new Map();
    return function digits(count) {
      for (let bits = BigInt(count) + 64n; !known.has(count); bits *= 2n) {
        const [one, other] = bounds(bits, BigInt(count));
        if (one === other) known.set(count, one);
      }
      return known.get(count);
    };
  }

  /** The digits of a p that grows or falls with e^epsilon. */
  function digitsOf(epsilon, floors) {
    return agreed(function (bits, count) {
      const [low, high, work] = exponential(epsilon.num, epsilon.den, bits);
      return [floors(low, work, count), floors(high, work, count)];
    });
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

  /** The chance 1 - e^(-epsilon / 2) of a piecewise report. */
  function unlikeHalf({ num, den }) {
    return digitsOf({ num, den: 2n * den }, (e, work, count) => ((e - (1n << work)) << count) / e);
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

  const bitLength = (number) => (number > 0 ? number.toString(2).length : 0);

  /** Uniform on 0 .. below - 1, for below up to 2^53: words are cut to its length, and those too large are drawn again. */
  function uniforms(below, count) {
    const mask = (1n << BigInt(bitLength(below - 1))) - 1n;
    const drawn = new Array(count).fill(below);
    for (let round = 0; round < PATIENCE; round += 1) {
      const over = [...drawn.keys()].filter((place) => drawn[place] >= below);
      if (over.length === 0) return drawn;
      words(over.length).forEach((some, i) => (drawn[over[i]] = Number(some & mask)));
    }
    throw refusal("EntropyError", "Two thousand random words did not settle one draw; the generator cannot be working.");
  }

  const uniform = (below) => uniforms(below, 1)[0];

  // ---- Discrete Laplace noise: P(x) proportional to e^(-|x| / t), for a rational scale t ---------------------------------
  //
  // |X| >= m has the chance 2 / (e^((m - 1) / t) + e^(m / t)) for m >= 1. So a uniform U, whose binary digits are drawn as they
  // are needed, is compared with such chances; the interval where U is known to lie must be on one side of each, as a whole.
  // Floats only guess with which m to begin. Python reads the same digits of the same U (its noise/laplace.py), so its |X|
  // is the same. (With a chance below 2^-40 it reads 64 digits more, or less, to be sure; then what follows differs.)

  /** What decide(cell, known) makes of a U in [cell, cell + 1] / 2^known: 63 digits first, and 64 more while that is null. */
  function settled(first, decide) {
    let cell = first >> 1n; // the last digit is for a sign
    for (let known = 63n; known < PATIENCE; known += 64n) {
      const found = decide(cell, known);
      if (found !== null) return found;
      cell = (cell << 64n) | word();
    }
    throw refusal("EntropyError", "Two thousand random bits did not settle one draw; the generator cannot be working.");
  }

  /** The largest m >= 0 up to which this holds, sought from a guess on; null where it cannot be known yet. */
  function largest(guess, holds) {
    const known = (m) => (m > 0n ? holds(m) : true);
    let found = BigInt(Math.max(Math.floor(guess), 0));
    let here = known(found);
    for (; here === false; here = known(found)) found -= 1n;
    for (; here; found += 1n) {
      here = holds(found + 1n);
      if (here === false) return found;
    }
    return null;
  }

  /** Whether numbers between low and high are at most a bound: all, none, or (null) perhaps some. */
  const within = (low, high, bound) => (high <= bound ? true : low > bound ? false : null);

  /** Bounds of e^((m - 1) / t) + e^(m / t), times 2^work. */
  function tail(m, { num, den }, bits) {
    const [low, high, work] = exponential(den, num, bits);
    const one = 1n << work;
    const [less, more] = m > 1n ? exponential((m - 1n) * den, num, bits) : [one, one];
    return [(less * (low + one)) >> work, ((more * (high + one)) >> work) + 1n, work];
  }

  /** ln(cell / 2^known), as a float. */
  function logarithm(cell, known) {
    const cut = Math.max(cell.toString(2).length - 64, 0);
    return Math.log(Number(cell >> BigInt(cut))) + (cut - Number(known)) * Math.LN2;
  }

  function discreteLaplace(scale) {
    const draw = scale.num <= scale.den << 26n ? shortNoise(scale) : longNoise(scale);
    return function () {
      const [size, negative] = draw();
      return negative ? -size : size;
    };
  }

  /** For t up to 2^26: |X| is the largest m with U (e^((m - 1) / t) + e^(m / t)) <= 2. */
  function shortNoise(scale) {
    const t = nearest(scale);
    const shift = t * (Math.LN2 - Math.log1p(Math.exp(-1 / t)));
    return function () {
      const first = word();
      const size = settled(first, function (cell, known) {
        if (cell === 0n) return null; // U may be as small as can be
        return largest(shift - t * logarithm(cell, known), function (m) {
          const [low, high, work] = tail(m, scale, known + 64n);
          return within(cell * low, (cell + 1n) * high, 2n << (known + work));
        });
      });
      return [size, first & 1n];
    };
  }

  /** For larger t: |X| = unit H + m, where H is geometric (the largest h with U e^(h unit / t) <= 1) and, with another uniform W,
   *  m is the largest with (1 - W + W e^(-unit / t)) (e^((m - 1) / t) + e^(m / t)) <= 2. */
  function longNoise(scale) {
    const unit = 1n << BigInt(((scale.num / scale.den).toString(2).length >> 1) + 4);
    const coarse = { num: scale.num, den: scale.den * unit }; // t / unit
    const [t, steps] = [nearest(scale), nearest(coarse)];
    return function () {
      const high = settled(word(), function (cell, known) {
        if (cell === 0n || cell + 1n === 1n << known) return null; // as above; and Python is not sure of h = 0 next to U = 1
        return largest(-steps * logarithm(cell, known), function (h) {
          const [low, high, work] = exponential(h * coarse.den, coarse.num, known + 64n);
          return within(cell * low, (cell + 1n) * high, 1n << (known + work));
        });
      });
      const second = word();
      const rest = settled(second, function (cell, known) {
        const part = Number(cell >> (known - 63n)) * 2 ** -63; // W, as a float
        const [less, more, work] = exponential(coarse.den, coarse.num, known + 64n); // e^(unit / t)
        const first = (w, power) => (((1n << known) - w) << work) + (w << (2n * work)) / power; // the first factor
        const [short, long] = [first(cell + 1n, more), first(cell, less) + 1n];
        return largest(0.5 - t * Math.log1p(part * Math.expm1(-1 / steps)), function (m) {
          const [low, high] = tail(m, scale, known + 64n);
          return within(short * low, long * high, 2n << (known + 2n * work));
        });
      });
      return [unit * high + rest, second & 1n];
    };
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
    const points = pointsOf(prime, dimension);
    demand(points >= size, "the projective geometry has too few points");
    const near = pointsOf(prime, dimension - 1);
    const truth = likely(near, points - near, epsilon);
    const free = prime ** (dimension - 1);
    return function (code) {
      const on = coin(truth);
      const [at, off] = [uniform(free - 1) + 1, uniform(free)];
      return meeting(code, on ? at : off, on ? 0 : 1, prime, dimension);
    };
  }

  function affine(size, epsilon, { prime, dimension, weight }) {
    demand(prime >= 2 && prime <= MOST_POINTS && !divisible(prime), "the field of an affine geometry is prime");
    const fits = dimension >= 1 && dimension <= 25 && prime ** dimension >= size && prime ** dimension <= MOST_POINTS;
    demand(fits, "the affine geometry has too few or too many points");
    demand(weight >= 1 && weight < prime && weight <= 4096, "a report holds some of the parallel hyperplanes");
    const truth = likely(weight, prime - weight, epsilon);
    return function (code) {
      const direction = uniform(pointsOf(prime, dimension));
      const own = product(vectorOf(direction, prime, dimension), digits(code, prime, dimension)) % prime;
      const inside = coin(truth);
      if (weight === 1) {
        const other = except(uniform(prime - 1), own);
        return direction * prime + (inside ? own : other);
      }
      const scale = uniform(prime - 1) + 1;
      const [near, away] = [uniform(weight), uniform(prime - weight) + weight];
      const start = (own - ((scale * (inside ? near : away)) % prime) + prime) % prime;
      return (direction * (prime - 1) + scale - 1) * prime + start;
    };
  }

  const product = (a, b) => a.reduce((sum, one, i) => sum + one * b[i], 0);

  /** The lowest digits of a number, the lowest first. */
  const digits = (number, base, count) => Array.from({ length: count }, (_, i) => Math.floor(number / base ** i) % base);

  /** The coordinates of a numbered point, the lowest place first: the highest that is not 0 is 1. */
  function vectorOf(number, prime, dimension) {
    let place = 0;
    while (pointsOf(prime, place + 1) <= number) place += 1;
    return digits(number - pointsOf(prime, place) + prime ** place, prime, dimension);
  }

  const pointsOf = (prime, dimension) => (prime ** dimension - 1) / (prime - 1);

  /** The number of the point u with <u, v> = product for the point v of this code; the t - 1 other coordinates are free. */
  function meeting(code, free, product, prime, dimension) {
    let place = 0;
    while (pointsOf(prime, place + 1) <= code) place += 1;
    const unit = prime ** place;
    let own = code - pointsOf(prime, place); // v's coordinates below its highest one, which is 1
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
    return written - prime ** top + pointsOf(prime, top);
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

  function divisible(number) {
    for (let divisor = 2; divisor * divisor <= number; divisor += 1) if (number % divisor === 0) return true;
    return false;
  }

  const FREQUENCIES = new Map([
    ["randomized response", [randomizedResponse, []]],
    ["k-ary", [kAry, []]],
    ["subset", [subset, ["weight"]]],
    ["projective", [projective, ["prime", "dimension"]]],
    ["affine", [affine, ["prime", "dimension", "weight"]]],
    ["unary", [unary, []]],
    ["hashing", [hashing, ["buckets"]]],
  ]);

  // ---- Repeated tasks: a permanent lie about every value, and a fresh one about the permanent one in every report --------

  /** k-ary randomized response twice. The permanent response is drawn from here, or comes from a person's secret. */
  function memoised(size, epsilon, permanent, values) {
    const others = BigInt(size - 1);
    const kept = likely(1, size - 1, permanent);
    const fresh = agreed(function (bits, count) {
      const { once, always, one, top } = powers(others, epsilon, permanent, bits);
      if (always[0] <= one) return [0n, 1n]; // not precise enough for anything
      const floors = (e, p) => (top(e, p) << count) / ((e + others * one) * (p - one));
      return [floors(once[0], always[1]), floors(once[1], always[0])]; // it grows with epsilon, and falls with the permanent one
    });

    function respond(code, chance) {
      const honest = coin(chance);
      const other = except(uniform(size - 1), code);
      return honest ? code : other;
    }

    /** Which value is answered for, and the marks of all that have been: the value itself while there is room for it, else the
     *  one with the smallest mark. The marks of all values are computed whatever the value is, so that the work tells nothing. */
    function answered(secret, task, code, seen) {
      const marks = Array.from({ length: size }, (_, other) => hmac(secret, `discreet seen|${task}|${other}`).slice(0, 32));
      const known = new Set(marks);
      if (seen.length > values || !seen.every((mark) => known.has(mark))) {
        const instead = "nothing is reported without it.";
        throw refusal("LedgerRefused", `The client's ledger has marks that are not of this task; ${instead}`);
      }
      const room = seen.includes(marks[code]) || seen.length < values;
      const first = marks.indexOf(seen[0] ?? marks[code]); // they are in order
      const together = [...new Set([...seen, marks[code]])].sort(); // an order that tells no history
      return room ? [code, together] : [first, seen];
    }

    /** The permanent response: always the same for one secret and task, and stored nowhere. */
    function permanentCode(secret, task, code) {
      const digits = (purpose, round) => BigInt(`0x${hmac(secret, `discreet permanent|${task}|${code}|${purpose}|${round}`)}`);
      const fitting = (1n << 256n) - ((1n << 256n) % others);
      let drawn = digits("other", 0);
      for (let round = 1; drawn >= fitting; round += 1) drawn = digits("other", round); // so that all are equally likely
      const other = except(Number(drawn % others), code);
      return keeps(digits) ? code : other;
    }

    /** A coin of chance `kept`: digits are compared until they differ, so it is exact. */
    function keeps(digits) {
      let [drawn, round] = [digits("keep", 0), 1];
      for (; drawn === kept(256 * round); round += 1) drawn = (drawn << 256n) | digits("keep", round);
      return drawn < kept(256 * round);
    }

    return {
      draw: (code) => respond(respond(code, kept), fresh),
      again: (code) => respond(code, fresh),
      answered,
      permanentCode,
      permanent,
      values,
      price: reduced({ num: permanent.num * BigInt(values), den: permanent.den }),
      freshEpsilon: () => freshEpsilon(others, epsilon, permanent),
    };
  }

  // With e = e^epsilon, p = e^permanent and k values, a report is the permanent response with the chance
  // top / ((e + k - 1) (p - 1)), and tells ln(top / (p - e)) about it, for top = e p + (k - 1) (e - 1) - e. So both responses
  // together cost just epsilon.

  /** Bounds of e and of p, all times `one`, and top, times its square. */
  function powers(others, epsilon, permanent, bits) {
    const [low, high, work] = exponential(epsilon.num, epsilon.den, bits);
    const [lower, higher] = exponential(permanent.num, permanent.den, bits);
    const one = 1n << work;
    return { once: [low, high], always: [lower, higher], one, top: (e, p) => e * p + ((others * (e - one) - e) << work) };
  }

  /** What one report tells about the permanent response, rounded up. */
  function freshEpsilon(others, epsilon, permanent) {
    let bits = 128n;
    return smallest(function ({ num, den }) {
      if (num > den << 14n) return true; // more than any fractions that can be read make of it
      for (; ; bits *= 2n) {
        const { once, always, top } = powers(others, epsilon, permanent, bits);
        const [low, high] = exponential(num, den, bits);
        if (low * (always[0] - once[1]) >= top(once[1], always[1])) return true;
        if (high * (always[1] - once[0]) < top(once[0], always[0])) return false;
      }
    });
  }

  /** The smallest double above 0 that fits, where all larger ones fit as well. Doubles are in the order of their bits. */
  function smallest(fits) {
    let [low, high] = [1n, 0x7fefffffffffffffn];
    while (low < high) {
      const middle = (low + high) >> 1n;
      if (fits(exactly(asDouble(middle)))) high = middle;
      else low = middle + 1n;
    }
    return asDouble(low);
  }

  const asDouble = (bits) => new Float64Array(BigUint64Array.of(bits).buffer)[0];

  /** A double above 0 as a fraction. */
  function exactly(double) {
    const bits = new BigUint64Array(Float64Array.of(double).buffer)[0];
    const [power, digits] = [bits >> 52n, bits & ((1n << 52n) - 1n)];
    const [num, shift] = power > 0n ? [digits | (1n << 52n), power - 1075n] : [digits, -1074n];
    return shift < 0n ? { num, den: 1n << -shift } : { num: num << shift, den: 1n };
  }

  // ---- Protocols for numbers: a place on a grid becomes a report --------------------------------------------------------

  /** code / steps * last, rounded up or down at random so that the mean is exact. */
  function rounded(code, steps, last) {
    const [scaled, all] = [BigInt(code) * BigInt(last), BigInt(steps)];
    return Number(scaled / all) + (BigInt(uniform(steps)) < scaled % all ? 1 : 0);
  }

  /** A cell of the window that starts here more often than any other cell. */
  function windowOf(cells, width, epsilon) {
    demand(width >= 1 && width < cells, "a window has some of the cells, and not all");
    const last = cells - width;
    const near = likely(width, last, epsilon);
    return function (start) {
      const inside = coin(near);
      const [within, beyond] = [uniform(width), uniform(last)];
      return inside ? start + within : beyond + (beyond >= start ? width : 0);
    };
  }

  function duchi(epsilon, { steps }) {
    demand(steps >= 1 && steps <= 2 ** 40, "there are 1 to 2^40 steps between the bounds");
    const truth = likely(1, 1, epsilon);
    return function (code) {
      const bit = rounded(code, steps, 1);
      return coin(truth) ? bit : 1 - bit;
    };
  }

  function hybrid(epsilon, { steps, grid, width }) {
    demand(grid >= 2 && grid <= 2 ** 15, "the hybrid protocol has 2 to 2^15 cells");
    const [bit, cell, chance] = [duchi(epsilon, { steps }), windowOf(grid, width, epsilon), unlikeHalf(epsilon)];
    return function (code) {
      const piecewise = coin(chance);
      const [long, short] = [cell(rounded(code, steps, grid - width)) + 2, bit(code)]; // both, whatever the coin says
      return piecewise ? long : short;
    };
  }

  function laplace(epsilon, { steps }) {
    demand(steps >= 1 && steps <= 2 ** 40, "there are 1 to 2^40 steps between the bounds");
    const scale = { num: BigInt(steps) * epsilon.den, den: epsilon.num };
    const margin = (44n * scale.num + scale.den - 1n) / scale.den; // beyond it, noise has a chance below 2^-63, and is cut off
    const last = BigInt(steps) + 2n * margin;
    const few = last < BigInt(2 ** 53);
    demand(few, "its Laplace noise has more than 2^53 reports, and JavaScript counts no further; duchi and hybrid have few");
    const noise = discreteLaplace(scale);
    return function (code) {
      const noisy = BigInt(code) + margin + noise();
      return Number(noisy < 0n ? 0n : noisy > last ? last : noisy);
    };
  }

  function squareWave(epsilon, { bins, arm }) {
    demand(bins >= 2 && bins <= 2 ** 14 && arm >= 0 && arm <= bins, "a distribution has 2 to 2^14 bins");
    return windowOf(bins + 2 * arm, 2 * arm + 1, epsilon);
  }

  const MEANS = new Map([
    ["duchi", [duchi, ["steps"]]],
    ["hybrid", [hybrid, ["steps", "grid", "width"]]],
    ["laplace", [laplace, ["steps"]]],
  ]);

  const SHAPES = new Map([["square wave", [squareWave, ["bins", "arm"]]]]);

  // ---- Heavy hitters: one prefix of a word, hashed into buckets by one of many public hashes, becomes a report ----------

  /** For the symbols of a word, each of so many bits; `lengths` are the bits of the prefixes, the whole word last. */
  function prefixes(lengths, width, epsilon, { hashes, buckets }) {
    demand(hashes >= 1 && buckets >= 2 && lengths.length * hashes * buckets <= 2 ** 26, "its prefixes have too many reports");
    const respond = kAry(buckets, epsilon);
    return function (symbols) {
      const level = Math.min(uniform(lengths.length + 1), lengths.length - 1); // twice as many tell about the whole word
      const number = uniform(hashes);
      const own = bucket(BigInt(number), prefixKey(symbols, lengths[level], width), BigInt(buckets));
      return (level * hashes + number) * buckets + respond(own);
    };
  }

  /** The key of a word's first bits. */
  function prefixKey(symbols, bits, width) {
    const key = (place) => keyOf(`discreet prefix ${bits} ${place}`);
    const cleared = (place) => 2 ** (width - Math.min(Math.max(bits - width * place, 0), width));
    const kept = symbols.map((symbol, place) => BigInt(symbol - (symbol % cleared(place))));
    return kept.reduce((sum, symbol, place) => sum + symbol * key(place), key(symbols.length)) & MASK;
  }

  const WORDS = new Map([["prefixes", [prefixes, ["hashes", "buckets"]]]]);

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
    const fate = hasFields(missing, ["value"]) ? missing.value : null;
    const instead = isItem(fate) && fate !== "refuse" && fate !== "random" ? domain.code(fate) : null;
    demand(instead !== null, "the fate of other answers is none that it knows");
    return (value) => domain.code(value) ?? instead;
  }

  // ---- Scales: numbers between two bounds, as places from 0 to 1 --------------------------------------------------------

  /** The place of a number, clamped to the bounds, or that of the declared fate of what is no number. */
  function readScale(facts) {
    demand(hasFields(facts, ["lower", "missing", "upper"]), "its scale is not one");
    const [lower, upper] = [readFraction(facts.lower, "a bound"), readFraction(facts.upper, "a bound")];
    const span = minus(upper, lower);
    const [low, high, width] = [lower, upper, span].map(nearest);
    demand(span.num > 0n && Number.isFinite(low) && Number.isFinite(high), "its lower bound is not below the upper");
    demand(width > 2 ** -900 && width < 2 ** 900, "its bounds are too near or too far");
    const found = (number) => Math.min(Math.max((Math.min(Math.max(number, low), high) - low) / width, 0), 1);
    if (facts.missing === "refuse") {
      return function (value) {
        const number = numberOf(value);
        if (!Number.isNaN(number)) return found(number);
        throw refusal("ValueRefused", "The answer is no number, which the task refuses: send nothing.");
      };
    }
    if (facts.missing === "random") {
      return function (value) {
        const [number, drawn] = [numberOf(value), uniform(2 ** 53)]; // for everybody: the work does not tell who was outside
        return Number.isNaN(number) ? drawn * 2 ** -53 : found(number);
      };
    }
    demand(hasFields(facts.missing, ["value"]), "the fate of other answers is none that it knows");
    const fate = minus(readFraction(facts.missing.value, "the fate of other answers"), lower);
    const place = { num: fate.num * span.den, den: fate.den * span.num };
    demand(place.num >= 0n && place.num <= place.den, "the fate of other answers is outside the bounds");
    const instead = nearest(place);
    return function (value) {
      const number = numberOf(value);
      return Number.isNaN(number) ? instead : found(number);
    };
  }

  const numberOf = (value) => (["number", "boolean", "bigint"].includes(typeof value) ? Number(value) : NaN);

  const minus = (a, b) => ({ num: a.num * b.den - b.num * a.den, den: a.den * b.den });

  /** The double next to a fraction (an even one between two): 64 digits and whether any follow, then one rounding. */
  function nearest({ num, den }) {
    const size = num < 0n ? -num : num;
    const digits = 64 - size.toString(2).length + den.toString(2).length;
    const shift = BigInt(Math.min(digits, 1074)); // a bound this near 0 moves no place, so its last digit does not matter
    const [over, under] = shift > 0n ? [size << shift, den] : [size, den << -shift];
    const whole = (over / under) | (over % under > 0n ? 1n : 0n);
    return Number(num < 0n ? -whole : whole) * 2 ** -Number(shift);
  }

  /** The nearest whole number, the even one of two. */
  function rint(number) {
    const low = Math.floor(number);
    const rest = number - low;
    return low + (rest > 0.5 || (rest === 0.5 && low % 2 === 1) ? 1 : 0);
  }

  // ---- Spelling: a word as symbols, bytes or places in an alphabet; 0 fills up behind the end ---------------------------

  /** The symbols of a word, or those of the declared fate of what cannot be spelled. */
  function readSpelling(facts) {
    demand(hasFields(facts, ["alphabet", "length", "missing"]), "its words are not described");
    const { length, alphabet, missing } = facts;
    demand(Number.isSafeInteger(length) && length >= 1 && length <= 64, "words have 1 to 64 symbols");
    demand(alphabet === null || (isText(alphabet) && !alphabet.includes("\0")), "its alphabet is no text");
    const signs = [...(alphabet ?? "")];
    const places = new Map(signs.map((sign, place) => [sign, place + 1]));
    const listed = places.size === signs.length && signs.length >= 2 && signs.length <= 1000;
    demand(alphabet === null || listed, "its alphabet has too few, too many or repeated characters");

    function spelled(value) {
      if (typeof value !== "string" || value === "" || value.includes("\0")) return null;
      const symbols = alphabet === null ? bytesOf(value, length) : [...value].slice(0, length).map((sign) => places.get(sign));
      if (symbols.length === 0 || symbols.includes(undefined)) return null;
      return [...symbols, ...new Array(length - symbols.length).fill(0)];
    }

    if (missing === "refuse") {
      return function (value) {
        const symbols = spelled(value);
        if (symbols !== null) return symbols;
        throw refusal("ValueRefused", "The answer cannot be spelled in this task, which refuses such answers: send nothing.");
      };
    }
    if (missing === "random") {
      const last = alphabet === null ? 255 : signs.length;
      return function (value) {
        const drawn = uniforms(last, length).map((symbol) => symbol + 1); // for everybody, as above
        return spelled(value) ?? drawn;
      };
    }
    const instead = spelled(missing);
    demand(instead !== null, "the fate of other answers is none that it knows");
    return (value) => spelled(value) ?? instead;
  }

  /** The first bytes of a text's UTF-8, cut between characters; none where it has no UTF-8. */
  function bytesOf(text, length) {
    const bytes = isText(text) ? new TextEncoder().encode(text) : new Uint8Array(0);
    let end = Math.min(length, bytes.length);
    while (end > 0 && end < bytes.length && (bytes[end] & 0xc0) === 0x80) end -= 1;
    return [...bytes.slice(0, end)];
  }

  /** The first 64 bits of a text's SHA-256. */
  const keyOf = (text) => BigInt(`0x${sha256(text).slice(0, 16)}`);

  // ---- Texts: a tokenizer cuts them into words, and a vocabulary numbers these ------------------------------------------

  const [CLASSES, FORMS, CASES] = [["email", "url", "number", "digits"], ["NFKC", "NFC"], ["lower", "keep"]];
  const TOKEN = /\p{Nd}+(?:[.,:]\p{Nd}+)*(?![\p{L}\p{M}\p{N}])|[\p{L}\p{M}\p{N}]+(?:'[\p{L}\p{M}\p{N}]+)*/gu;
  const NUMBER = /^\p{Nd}+(?:[.,:]\p{Nd}+)*$/u;
  const MAIL = /^[^@]+@[^@.]+(?:\.[^@.]+)+$/u;
  const AROUND = new Set("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~“”„‘’«»…–—");
  const MOST_CHARACTERS = 2 ** 20;
  const MOST_WORDS = 2 ** 20;

  /** One document, as long as one may be; the refusal says nothing of what it holds. */
  function checkedText(value) {
    if (typeof value !== "string") throw refusal("ValueRefused", "A document is a text; send nothing.");
    if (value.length > 2 * MOST_CHARACTERS || (value.length > MOST_CHARACTERS && [...value].length > MOST_CHARACTERS)) {
      throw refusal("ValueRefused", "A document has more than 1,048,576 characters; cut it first.");
    }
    return value;
  }

  /** What gives the words of a text, by the rules that Python's tokens.py states. */
  function readTokenizer(facts) {
    demand(hasFields(facts, ["case", "classes", "form"]), "its tokenizer is not described");
    const { form, classes } = facts;
    demand(FORMS.includes(form) && CASES.includes(facts.case) && Array.isArray(classes), "its tokenizer has other rules");
    const known = CLASSES.filter((one) => classes.includes(one));
    demand(known.length === classes.length && known.every((one, i) => one === classes[i]), "its tokenizer has other classes");
    const [email, url, number, long] = CLASSES.map((one) => classes.includes(one));

    function normal(text) {
      const composed = text.normalize(form);
      return (facts.case === "lower" ? composed.toLowerCase().normalize(form) : composed).replaceAll("\u2019", "'");
    }

    function address(piece) {
      const signs = [...piece];
      let [start, end] = [0, signs.length];
      while (start < end && AROUND.has(signs[start])) start += 1;
      while (start < end && AROUND.has(signs[end - 1])) end -= 1;
      const first = signs.slice(start, Math.min(start + 8, end)).join("").toLowerCase();
      if (url && end - start > 8 && ["http://", "https://", "www."].some((one) => first.startsWith(one))) return "<url>";
      return email && piece.includes("@") && MAIL.test(signs.slice(start, end).join("")) ? "<email>" : null;
    }

    function classed(token) {
      if (!(number || long) || !NUMBER.test(token)) return token;
      const many = token.match(/\p{Nd}/gu).length >= 5;
      if (many && long) return "<digits>";
      return number && !(many && long) ? "<number>" : token;
    }

    function tokens(text) {
      const found = [];
      for (const piece of normal(checkedText(text)).split(/[ \t\n\r\f\v]+/)) {
        const one = address(piece);
        if (one !== null) found.push(one);
        else for (const token of piece.match(TOKEN) ?? []) found.push(classed(token));
      }
      return found;
    }

    return { tokens, marks: classes.map((one) => `<${one}>`) };
  }

  /** How many items a vocabulary has, and the codes of a text's words; what only fills up is 0. */
  function readVocabulary(facts) {
    demand(hasFields(facts, ["tokenizer", "unknown", "words"]), "its vocabulary is not described");
    const { words: listed, unknown } = facts;
    const { tokens, marks } = readTokenizer(facts.tokenizer);
    demand(Array.isArray(listed) && listed.length >= 2 && listed.length <= MOST_WORDS, "its vocabulary is no list of words");
    for (const word of listed) {
      const found = isText(word) && word.length <= 400 ? tokens(word) : [];
      demand(found.length === 1 && found[0] === word && !marks.includes(word), "its vocabulary lists what is no word");
    }
    const items = ["<nothing>", ...(unknown === "mark" ? ["<other>"] : []), ...marks, ...listed];
    const codes = new Map(items.map((item, code) => [item, code]));
    demand(codes.size === items.length, "its vocabulary lists a word twice");
    demand(["mark", "drop"].includes(unknown) || listed.includes(unknown), "the fate of unknown words is none that it knows");
    const fate = unknown === "drop" ? null : codes.get(unknown === "mark" ? "<other>" : unknown);
    const encode = (text) => tokens(text).map((token) => codes.get(token) ?? fate).filter((code) => code !== null);
    return { size: items.length, items, encode };
  }

  /** One of these, each as likely, or what stands for none. */
  function oneOf(list, none) {
    const place = uniform(Math.max(list.length, 1));
    return list.length > 0 ? list[place] : none;
  }

  // ---- Distances between words: around each, all words stand on levels so many steps away --------------------------------

  function bytesOfBase64(text, count) {
    demand(typeof text === "string" && /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.length % 4 === 0, "its numbers are not packed");
    const raw = root.atob(text);
    demand(raw.length === count, "it has too few or too many packed numbers");
    return new DataView(Uint8Array.from(raw, (sign) => sign.charCodeAt(0)).buffer);
  }

  const upTo = (count) => Array.from({ length: count }, (_, i) => i);

  /** For each item, how many stand on each level, and which: `around(code)` gives counts and pick(level, rank). */
  function readDistance(facts, size) {
    demand(isObject(facts) && DISTANCES.has(facts.kind), "its distance is of an unknown kind");
    const [names, read] = DISTANCES.get(facts.kind);
    demand(hasFields(facts, ["kind", ...names]), "its distance has other fields");
    return read(facts, size);
  }

  /** From a row of levels; on a level, items are in the order of their codes. */
  function aroundRow(row, levels) {
    const counts = new Array(levels).fill(0);
    for (const level of row) counts[level] += 1;
    function pick(level, rank) {
      let left = rank;
      return row.findIndex((one) => one === level && left-- === 0);
    }
    return { counts, pick };
  }

  function readTree({ classes, steps: ups, unit }, size) {
    const whole = Array.isArray(ups) && ups.every((up, i) => Number.isSafeInteger(up) && up >= (ups[i - 1] ?? 0) && up <= 1000);
    demand(whole && Array.isArray(classes) && ups.length === classes.length + 1 && ups.length <= 64, "its tree has other steps");
    demand(ups.at(-1) > 0, "its tree has no height");
    const numbers = classes.map((text) => {
      const view = bytesOfBase64(text, 4 * size);
      return upTo(size).map((item) => view.getUint32(4 * item, true));
    });
    numbers.forEach((level, at) => {
      const inside = new Map(); // a class lies in one larger class
      const nested = level.every((larger, item) => {
        const smaller = at > 0 ? numbers[at - 1][item] : item;
        if (!inside.has(smaller)) inside.set(smaller, larger);
        return larger < size && inside.get(smaller) === larger;
      });
      demand(nested, "its classes do not lie within one another");
    });
    const largest = numbers.map((level) => level).reverse();
    const order = upTo(size).sort(function (a, b) {
      for (const level of largest) if (level[a] !== level[b]) return level[a] - level[b];
      return a - b;
    });
    const place = new Array(size);
    order.forEach((item, at) => (place[item] = at));
    const stretches = numbers.map((level) => {
      const ends = new Map();
      order.forEach((item, at) => ends.set(level[item], [ends.get(level[item])?.[0] ?? at, at + 1]));
      return level.map((number) => ends.get(number));
    });
    return {
      steps: [0, ...ups],
      unit: readFraction(unit, "the unit of its tree"),
      flat: classes.length === 0 && ups[0] === 1 && unit === "1",
      tree: true,
      around(code) {
        const own = [[place[code], place[code] + 1], ...stretches.map((level) => level[code]), [0, size]];
        const counts = own.map(([low, high], level) => high - low - (level > 0 ? own[level - 1][1] - own[level - 1][0] : 0));
        function pick(level, rank) {
          if (level === 0) return code;
          const [[low], [left, right]] = [own[level], own[level - 1]];
          return order[rank < left - low ? low + rank : right + rank - (left - low)];
        }
        return { counts, pick };
      },
    };
  }

  /** The distance over the grid, rounded up: the least k with k^2 g^2 >= the square. */
  function stepsUp(square, grid) {
    let steps = Math.ceil(Math.sqrt(square) / grid);
    while ((steps * grid) ** 2 < square) steps += 1;
    while (steps > 0 && ((steps - 1) * grid) ** 2 >= square) steps -= 1;
    return steps;
  }

  function readVectors({ entries, grid, numbers }, size) {
    demand(Number.isSafeInteger(numbers) && numbers >= 1 && numbers <= 1024, "its vectors have 1 to 1,024 numbers");
    demand(Number.isSafeInteger(grid) && grid >= 1 && grid <= 511, "its vectors have another grid");
    const view = bytesOfBase64(entries, 2 * size * numbers);
    const rows = Int16Array.from({ length: size * numbers }, (_, i) => view.getInt16(2 * i, true));
    const square = (a, b) => {
      let sum = 0;
      for (let i = 0; i < numbers; i += 1) sum += (rows[a * numbers + i] - (b < 0 ? 0 : rows[b * numbers + i])) ** 2;
      return sum;
    };
    const longest = upTo(size).reduce((most, item) => Math.max(most, square(item, -1)), 0);
    demand(longest <= 511 ** 2, "one of its vectors is too long");
    const steps = upTo(Math.ceil(stepsUp(4 * longest, 1) / grid) + 1);
    const around = (code) => aroundRow(upTo(size).map((other) => stepsUp(square(code, other), grid)), steps.length);
    return { steps, unit: reduced({ num: BigInt(grid), den: 500n }), around };
  }

  function readMatrix({ matrix, unit }, size) {
    demand(size <= 1000, "its matrix is too large");
    const view = bytesOfBase64(matrix, 2 * size * size);
    const rows = upTo(size).map((a) => Uint16Array.from({ length: size }, (_, b) => view.getUint16(2 * (a * size + b), true)));
    const most = Math.max(...rows.map((row) => Math.max(...row)));
    demand(most <= 1000, "its matrix has too many steps");
    const symmetric = rows.every((row, a) => row[a] === 0 && row.every((steps, b) => steps === rows[b][a]));
    demand(symmetric && rows.every((via) => rows.every((row, a) => row.every((far, b) => far <= via[a] + via[b]))), "it is no metric");
    const steps = upTo(most + 1);
    return { steps, unit: readFraction(unit, "the unit of its matrix"), around: (code) => aroundRow([...rows[code]], steps.length) };
  }

  const DISTANCES = new Map([
    ["tree", [["classes", "steps", "unit"], readTree]],
    ["vectors", [["entries", "grid", "numbers"], readVectors]],
    ["matrix", [["matrix", "unit"], readMatrix]],
  ]);

  // ---- Substitution: a word becomes a word s steps away with a chance proportional to e^(-rate s) ------------------------

  const times = (a, b) => reduced({ num: a.num * b.num, den: a.den * b.den });
  const scaled = (a, by) => times(a, { num: BigInt(by), den: 1n });

  /** Whole bounds of e^(-rate s) 2^bits for every level, remembered. */
  function weightsOf({ steps }, rate) {
    const known = new Map();
    return function weights(bits) {
      if (!known.has(bits)) {
        const one = 1n << bits;
        const bounds = steps.map(function (step) {
          if (step === 0) return [one, one];
          const [low, high, work] = exponential(rate.num * BigInt(step), rate.den, bits);
          return [(one << work) / high, (one << work) / low + 1n];
        });
        known.set(bits, bounds);
      }
      return known.get(bits);
    };
  }

  /** Bounds of Z, the sum of all weights around an item. */
  function totalOf(counts, weights) {
    const sum = (side) => counts.reduce((total, count, level) => total + BigInt(count) * weights[level][side], 0n);
    return [sum(0), sum(1)];
  }

  /** Items lie on [0, Z), level by level, each as long as its weight; U in [cell, cell + 1] / 2^known falls at U Z. Null where that
   *  may be on more than one. */
  function fallen(counts, weights, cell, known) {
    const [least, most] = totalOf(counts, weights);
    const [low, high] = [(cell * least) >> known, (((cell + 1n) * most) >> known) + 1n];
    let before = [0n, 0n];
    for (let level = 0; level < counts.length; level += 1) {
      const [[short, long], count] = [weights[level], BigInt(counts[level])];
      const end = [before[0] + count * short, before[1] + count * long];
      if (high < end[0]) {
        const rank = short > 0n && low > before[0] ? (low - before[0]) / short : 0n;
        const inside = before[1] + rank * long < low && high < before[0] + (rank + 1n) * short && rank < count;
        return inside ? [level, Number(rank)] : null;
      }
      if (low <= end[1]) return null;
      before = end;
    }
    return null;
  }

  /** One word for each code, as Python's substitution.py draws it. */
  function substitution(distance, rate) {
    const weights = weightsOf(distance, rate);
    return function (codes) {
      return words(codes.length).map(function (first, i) {
        const { counts, pick } = distance.around(codes[i]);
        let cell = first;
        for (let known = 64n; known < PATIENCE; known += 64n) {
          const found = fallen(counts, weights(2n * known + 192n), cell, known);
          if (found !== null) return pick(...found);
          cell = (cell << 64n) | word();
        }
        throw refusal("EntropyError", "Two thousand random bits did not settle one draw; the generator cannot be working.");
      });
    };
  }

  /** Whether a tree's rate costs at most epsilon a word: rate <= epsilon / 2H, or e^(rate H) max Z <= e^epsilon min Z. */
  function isPaid(distance, rate, epsilon, size) {
    const height = BigInt(distance.steps.at(-1));
    if (!isLess(epsilon, scaled(rate, 2n * height))) return true;
    const weights = weightsOf(distance, rate)(192n);
    const kinds = new Map(upTo(size).map((code) => [distance.around(code).counts.join(), code]));
    const totals = [...kinds.values()].map((code) => totalOf(distance.around(code).counts, weights));
    const least = totals.map(([low]) => low).reduce((a, b) => (a < b ? a : b));
    const most = totals.map(([, high]) => high).reduce((a, b) => (a > b ? a : b));
    const [, dear] = exponential(rate.num * height, rate.den, 192n);
    const [paid] = exponential(epsilon.num, epsilon.den, 192n);
    return dear * most <= paid * least;
  }

  // ---- Tasks ------------------------------------------------------------------------------------------------------------

  const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

  /** Whether this is an object with just these fields. */
  function hasFields(value, names) {
    return isObject(value) && Object.keys(value).length === names.length && names.every((name) => Object.hasOwn(value, name));
  }

  // Of each kind: its version, its own fields, and what makes of them how a value is settled and how a report is drawn of that.
  const KINDS = new Map([
    ["frequencies", [1, ["domain", "protocol"], readFrequencies]],
    ["bit", [1, ["domain", "protocol"], readFrequencies]],
    ["mean", [1, ["protocol", "scale"], readMean]],
    ["distribution", [1, ["protocol", "scale"], readDistribution]],
    ["heavy hitters", [2, ["most", "prefixes", "protocol", "words"], readHeavyHitters]],
    ["attributes", [1, ["tasks"], readAttributes]],
    ["repeated", [1, ["domain", "protocol"], readRepeated]],
    ["word shares", [1, ["protocol", "vocabulary"], readWordShares]],
    ["phrases", [1, ["most", "phrase", "prefixes", "protocol", "words"], readPhrases]],
    ["topics", [1, ["domain", "protocol", "rule"], readTopics]],
    ["substitution", [1, ["distance", "protocol", "vocabulary"], readSubstitution]],
  ]);
  const COMMON = ["discreet", "epsilon", "kind", "period", "question", "version"];

  function readFrequencies(facts, epsilon) {
    const domain = readDomain(facts.domain);
    const draw = readProtocol(facts.protocol, FREQUENCIES, domain.size, epsilon);
    demand(domain.size > 0 || facts.protocol.name === "hashing", "any text can be asked for by hashing alone");
    return { settle: settler(domain, facts.domain.missing), draw };
  }

  function readMean(facts, epsilon) {
    const [place, draw] = [readScale(facts.scale), readProtocol(facts.protocol, MEANS, epsilon)];
    return { settle: (value) => rint(place(value) * facts.protocol.steps), draw };
  }

  function readDistribution(facts, epsilon) {
    const [place, draw] = [readScale(facts.scale), readProtocol(facts.protocol, SHAPES, epsilon)];
    const { bins } = facts.protocol;
    return { settle: (value) => Math.min(Math.floor(place(value) * bins), bins - 1), draw };
  }

  function readHeavyHitters({ words: spelling, most, prefixes: lengths, protocol }, epsilon) {
    demand(Number.isSafeInteger(most) && most >= 1 && most <= 10000, "1 to 10,000 prefixes are followed");
    const settle = readSpelling(spelling);
    const width = bitLength(spelling.alphabet === null ? 255 : [...spelling.alphabet].length); // 0 is the end
    const longer = (bits, i) => Number.isSafeInteger(bits) && bits > (lengths[i - 1] ?? 0) && bits <= (lengths[i - 1] ?? 0) + 20;
    const whole = Array.isArray(lengths) && lengths.every(longer) && lengths.at(-1) === width * spelling.length;
    demand(whole, "its prefixes do not lead to the whole word");
    const few = lengths.slice(1).every((bits, i) => most * 2 ** (bits - lengths[i]) <= 2 ** 22);
    demand(few, "too many prefixes would be looked at");
    return { settle, draw: readProtocol(protocol, WORDS, lengths, width, epsilon) };
  }

  /** Without a client, a report remembers nothing: both responses are drawn, and it costs epsilon each time. */
  function readRepeated({ domain: described, protocol }, epsilon) {
    const domain = readDomain(described);
    demand(domain.size > 0 && domain.size <= MOST_REPEATED, "a repeated question has a closed domain of at most 65,536 values");
    demand(hasFields(protocol, ["name", "permanent", "values"]) && protocol.name === "memoised", "its protocol is unknown");
    const { values } = protocol;
    demand(Number.isSafeInteger(values) && values >= 1 && values <= domain.size, "a person has 1 to all values of the domain");
    const permanent = readEpsilon(protocol.permanent);
    demand(isLess(epsilon, permanent), "its permanent epsilon is not above epsilon");
    const memory = memoised(domain.size, epsilon, permanent, values);
    return { settle: settler(domain, described.missing), draw: memory.draw, memory };
  }

  /** One word of a text, at full epsilon for the person. */
  function readWordShares(facts, epsilon) {
    const { size, encode } = readVocabulary(facts.vocabulary);
    return { settle: (text) => oneOf(encode(text), 0), draw: readProtocol(facts.protocol, FREQUENCIES, size, epsilon) };
  }

  /** One run of words of a text, spelled; a text without one tells about a random one. */
  function readPhrases(facts, epsilon) {
    demand(hasFields(facts.phrase, ["tokenizer", "words"]), "its phrases are not described");
    const { tokens } = readTokenizer(facts.phrase.tokenizer);
    const count = facts.phrase.words;
    demand(Number.isSafeInteger(count) && count >= 1 && count <= 8, "phrases have 1 to 8 words");
    const { settle, draw } = readHeavyHitters(facts, epsilon);
    demand(facts.words.missing === "random", "a text without a phrase tells about a random one");
    return {
      settle(text) {
        const found = tokens(text);
        const runs = found.slice(0, Math.max(found.length - count + 1, 0)).map((_, i) => found.slice(i, i + count).join(" "));
        return settle(oneOf(runs, ""));
      },
      draw,
    };
  }

  /** What a whole text is about: the topic with the most words of its list, the first of several; the last item where none. */
  function readTopics(facts, epsilon) {
    demand(hasFields(facts.rule, ["lists", "tokenizer"]) && Array.isArray(facts.rule.lists), "its topics are not described");
    const { tokens } = readTokenizer(facts.rule.tokenizer);
    const { lists } = facts.rule;
    const { draw } = readFrequencies(facts, epsilon);
    const { values, missing } = facts.domain;
    const named = Array.isArray(values) && values.length === lists.length + 1 && missing?.value === values.at(-1);
    const listed = (list, i) => Array.isArray(list) && list.length === 2 && list[0] === values[i] && Array.isArray(list[1]);
    demand(named && lists.every(listed), "its topics are not those that its lists name");
    const members = lists.map(([, list]) => new Set(list));
    function settle(text) {
      const found = tokens(text);
      const hits = members.map((list) => found.filter((token) => list.has(token)).length);
      const most = Math.max(...hits);
      return most > 0 ? hits.indexOf(most) : hits.length;
    }
    return { settle, draw };
  }

  /** Every word of a text, cut or filled up to a public length; epsilon is that of the whole document, at worst. */
  function readSubstitution({ vocabulary, distance: described, protocol }, epsilon) {
    const { size, items, encode } = readVocabulary(vocabulary);
    const distance = readDistance(described, size);
    demand(hasFields(protocol, ["each", "law", "length", "name", "rate"]) && protocol.name === "substitution", "its law is unknown");
    const { law, length } = protocol;
    demand(Number.isSafeInteger(length) && length >= 1 && length <= 10000, "documents have 1 to 10,000 words");
    const [each, rate] = [readEpsilon(protocol.each), readFraction(protocol.rate, "its rate")];
    const [height, unit] = [distance.steps.at(-1), distance.unit];
    demand(unit.num > 0n && rate.num > 0n && !isLess({ num: 1000n, den: 1n }, scaled(rate, height)), "its rate is beyond all sense");
    const halved = times(each, { num: unit.num, den: 2n * unit.den });
    const equal = (a, b) => !isLess(a, b) && !isLess(b, a);
    const sound = new Map([
      ["k-ary", () => distance.flat === true && equal(rate, each)],
      ["tree", () => distance.tree === true && isPaid(distance, rate, each, size)],
      ["metric", () => equal(rate, halved)],
    ]);
    demand(sound.has(law) && sound.get(law)(), "its rate is not that of its law and epsilon");
    const worst = law === "metric" ? times(each, scaled(unit, height)) : each;
    demand(equal(epsilon, scaled(worst, length)), "epsilon is not the sum over the words of a document");
    const draw = substitution(distance, rate);
    function settle(text) {
      const codes = encode(text).slice(0, length);
      return [...codes, ...new Array(length - codes.length).fill(0)];
    }
    /** The substituted text, without what only fills up. */
    const write = (codes) => codes.filter((code) => code > 0).map((code) => items[code]).join(" ");
    return { settle, draw, write };
  }

  /** Every answer is read and randomised, then all but the one of a drawn task are forgotten. */
  function readAttributes({ tasks }, epsilon) {
    demand(isObject(tasks) && Object.keys(tasks).every(isText), "attributes are tasks by name");
    const names = inOrder(tasks);
    demand(names.length >= 2 && names.length < 2 ** 16, "there are 2 to 65,535 attributes");
    const members = names.map((name) => {
      demand(isObject(tasks[name]) && tasks[name].kind !== "attributes", "an attribute is a task, and not attributes again");
      demand(!isObject(tasks[name].domain) || !("text" in tasks[name].domain), "attributes have closed domains");
      return readParts(tasks[name]);
    });
    const dearest = members.map((member) => member.epsilon).reduce((a, b) => (isLess(a, b) ? b : a));
    demand(dearest.num === epsilon.num && dearest.den === epsilon.den, "epsilon is not the largest of the attributes'");
    return {
      settle(value) {
        if (!hasFields(value, names) || names.some((name) => Array.isArray(value[name]))) {
          throw refusal("ValueRefused", "Answers are an object with one value for every attribute, and no others.");
        }
        return names.map((name, number) => members[number].settle(value[name]));
      },
      draw(codes) {
        const chosen = uniform(members.length);
        const reports = members.map((member, number) => member.draw(codes[number]));
        return [chosen, reports[chosen]];
      },
    };
  }

  /** What a task that was parsed does, checked in full; unknown versions and kinds are refused. */
  function readParts(facts) {
    demand(isObject(facts) && facts.discreet === "local task", "it is no task of local privacy");
    demand(KINDS.has(facts.kind), `it randomises for the kinds ${[...KINDS.keys()].join(", ")} only`);
    const [version, names, read] = KINDS.get(facts.kind);
    demand(facts.version === version, `of ${facts.kind} it reads version ${version} only`);
    demand(hasFields(facts, [...COMMON, ...names]), "it has other fields than a task");
    demand(isText(facts.question) && isText(facts.period), "question and period are texts");
    const most = facts.kind === "substitution" ? 10n ** 8n : LARGEST_EPSILON; // of a document: the sum over its words
    const epsilon = readEpsilon(facts.epsilon, most);
    return { epsilon, ...read(facts, epsilon) };
  }

  /** The task of this JSON (text, or an object that was parsed from it). */
  function readTask(json) {
    let facts;
    try {
      facts = JSON.parse(typeof json === "string" ? json : JSON.stringify(json));
    } catch {
      throw strange("it is not JSON");
    }
    const parts = readParts(facts);
    const hash = sha256(canonical(facts));

    /** One report for one person's answer; a nonce is a random mark by which a collector finds duplicates. */
    function randomize(value, { nonce = false } = {}) {
      return reportOf(hash, parts.draw(parts.settle(value)), nonce);
    }

    const { kind, question, period, epsilon } = facts;
    const protocol = facts.protocol?.name ?? "one of";
    const text = parts.write === undefined ? {} : { text: (report) => parts.write(report.r) };
    const task = Object.freeze({ hash, kind, question, period, epsilon, protocol, randomize, ...text });
    PARTS.set(task, parts);
    return task;
  }

  const PARTS = new WeakMap(); // of every task that was read here: a client believes no other object about a price

  function reportOf(task, r, nonce) {
    const report = { v: VERSION, task, r };
    if (nonce) report.nonce = hexadecimal(words(2));
    return report;
  }

  function readProtocol(facts, known, ...given) {
    demand(isObject(facts) && known.has(facts.name), "its protocol is unknown");
    const [make, names] = known.get(facts.name);
    const whole = names.every((name) => Number.isSafeInteger(facts[name]));
    demand(whole && hasFields(facts, ["name", ...names]), "its protocol has other parameters");
    return make(...given, facts);
  }

  /** A fraction as Python writes it: in lowest terms, and no denominator of 1. */
  function readFraction(text, name, longest = 2000) {
    const short = typeof text === "string" && text.length <= longest;
    const parts = short ? /^(0|-?[1-9][0-9]*)(?:\/([1-9][0-9]*))?$/.exec(text) : null;
    demand(parts !== null && parts[2] !== "1", `${name} is not a fraction`);
    const [num, den] = [BigInt(parts[1]), BigInt(parts[2] ?? 1)];
    demand(common(num, den) === 1n, `${name} is not in lowest terms`);
    return { num, den };
  }

  /** The greatest common divisor, for den > 0. */
  function common(num, den) {
    let [a, b] = [num < 0n ? -num : num, den];
    while (b > 0n) [a, b] = [b, a % b];
    return a;
  }

  const isLess = (a, b) => a.num * b.den < b.num * a.den;

  function reduced({ num, den }) {
    const by = common(num, den);
    return { num: num / by, den: den / by };
  }

  const plus = (a, b) => reduced({ num: a.num * b.den + b.num * a.den, den: a.den * b.den });

  const written = ({ num, den }) => (den === 1n ? `${num}` : `${num}/${den}`);

  function readEpsilon(text, most = LARGEST_EPSILON) {
    const epsilon = readFraction(text, "epsilon");
    demand(epsilon.num > 0n && epsilon.num * SMALLEST_EPSILON >= epsilon.den, "epsilon is not above 0, or below 1e-100");
    demand(epsilon.num <= most * epsilon.den, `epsilon is above ${most}`);
    return epsilon;
  }

  /** JSON with one spelling only: keys in order, no spaces. */
  function canonical(value) {
    if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
    if (!isObject(value)) return JSON.stringify(value);
    return `{${inOrder(value).map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
  }

  /** The keys in the order of their characters, as Python sorts; JavaScript would compare halves of surrogate pairs. */
  function inOrder(value) {
    const padded = (key) => Array.from(key, (sign) => sign.codePointAt(0).toString(16).padStart(6, "0")).join("");
    return Object.keys(value).map((key) => [padded(key), key]).sort(([a], [b]) => (a < b ? -1 : 1)).map(([, key]) => key);
  }

  /** Words as they lie in memory, lowest byte first. */
  function hexadecimal(numbers) {
    return numbers.map((number) => number.toString(16).padStart(16, "0").match(/../g).reverse().join("")).join("");
  }

  // ---- A person's ledger: one small JSON text, the same as Python's client writes to a file ------------------------------
  //
  // Epsilons add, over all tasks and periods, as exact fractions; there is no reset. Whether a report leaves depends on how many
  // were sent to which tasks, never on a value. A repeated task is paid for once: at most so many different values of a person are
  // answered for, each at the permanent epsilon, and any further one with the response to one of those. That bounds what its
  // reports tell between lives of the same pattern, whose values are equal at the same pairs of times; between other lives, see
  // lifetime(task).anyHistory. Python's memoised.py has the theorem.
  //
  // The ledger has a secret, from which permanent responses come, and keyed marks by which it knows how many different values of a
  // repeated task were reported; no value is in it. Who can read the storage (any script of the page's origin) can test guesses
  // against those marks.

  const LEDGER_VERSION = 1;
  const LEDGER = ["discreet", "reports", "secret", "seen", "spent", "total", "version"];
  const ZERO = { num: 0n, den: 1n };
  const [LOOKS, PAUSE] = [200, 25]; // for what another page wrote, and milliseconds between them

  const isHex = (value, length) => typeof value === "string" && value.length === length && /^[0-9a-f]*$/.test(value);

  /** The ledger of this text, or a refusal: a damaged one is never begun anew. */
  function readLedger(text) {
    try {
      const life = JSON.parse(text);
      if (canonical(life) === text && isLedger(life)) return life;
    } catch {
      // what is no JSON, or no fraction, is damaged like the rest
    }
    throw refusal("LedgerRefused", "The client's ledger is missing or damaged; nothing is reported without it.");
  }

  function isLedger(life) {
    if (!hasFields(life, LEDGER) || life.discreet !== "local client" || life.version !== LEDGER_VERSION) return false;
    if (readAmount(life.total).num <= 0n || !isHex(life.secret, 64)) return false;
    const { spent, reports, seen } = life;
    const fits = (facts, fit) => isObject(facts) && Object.entries(facts).every(([task, fact]) => isHex(task, 64) && fit(fact));
    return (
      fits(spent, (amount) => readAmount(amount).num >= 0n) &&
      fits(reports, (count) => Number.isSafeInteger(count) && count > 0) &&
      fits(seen, (marks) => Array.isArray(marks) && marks.every((one, i) => isHex(one, 32) && (i === 0 || marks[i - 1] < one))) &&
      hasFields(reports, Object.keys(spent)) &&
      Object.keys(seen).every((task) => Object.hasOwn(spent, task))
    );
  }

  const readAmount = (text) => readFraction(text, "an amount", 9000); // as long as Python can write

  const spentOf = (life) => Object.values(life.spent).map(readAmount).reduce(plus, ZERO);

  const reportsOf = (life) => Object.values(life.reports).reduce((sum, count) => sum + count, 0);

  /** The ledger after one more report, or a refusal. */
  function paid(life, task, price, seen) {
    const [spent, total] = [spentOf(life), readAmount(life.total)];
    if (isLess(total, plus(spent, price))) throw exceeded(price, spent, reduced(minus(total, spent)));
    const before = life.spent[task] ?? "0";
    const after = {
      ...life,
      spent: { ...life.spent, [task]: written(plus(readAmount(before), price)) },
      reports: { ...life.reports, [task]: (life.reports[task] ?? 0) + 1 },
    };
    if (seen !== null) after.seen = { ...life.seen, [task]: seen };
    return after;
  }

  function exceeded(requested, spent, left) {
    const shown = (amount) => Number(nearest(amount).toPrecision(12));
    const amounts = `epsilon ${shown(requested)} requested, ${shown(spent)} spent, ${shown(left)} left`;
    const error = refusal("BudgetExceeded", `This would exceed the budget: ${amounts}. Ask for less, or stop here.`);
    return Object.assign(error, { requested: amountOf(requested), spent: amountOf(spent), left: amountOf(left) });
  }

  /** An exact fraction for the page: num and den are BigInt, its text is "3/2", and as a number it is rounded. */
  function amountOf(fraction) {
    const [text, near] = [written(fraction), nearest(fraction)];
    return Object.freeze({ ...fraction, toString: () => text, toJSON: () => text, valueOf: () => near });
  }

  /** What somebody wrote for epsilon: 0.1 is 1/10, and "1/3" is exact. */
  function readTotal(value) {
    const text = ["number", "bigint", "string"].includes(typeof value) ? String(value) : "";
    const parts = text.length <= 2000 ? /^([0-9]+)(?:\.([0-9]+))?(?:e([+-]?[0-9]{1,3})|\/([0-9]+))?$/.exec(text) : null;
    const [, whole, places = "", power = "0", den = "1"] = parts ?? ["", "0"];
    const shift = BigInt(power) - BigInt(places.length);
    const num = BigInt(whole + places) * 10n ** (shift > 0n ? shift : 0n);
    const under = BigInt(den) * 10n ** (shift < 0n ? -shift : 0n);
    if (num > 0n && under > 0n) return reduced({ num, den: under });
    const instead = "the most that all reports of a lifetime may cost, such as 4";
    throw refusal("ParameterError", `epsilon must be a number above 0, or a fraction such as "1/3"; write ${instead}.`);
  }

  const queues = new Map();

  /** Run alone: among all pages of this origin where there are Web Locks, and among the calls of this page where not. */
  function alone(name, run) {
    const locks = root.navigator?.locks;
    if (locks) return locks.request(`discreet ledger ${name}`, run);
    const mine = (queues.get(name) ?? Promise.resolve()).then(run);
    queues.set(name, mine.catch(() => {}));
    return mine;
  }

  /** Where a ledger is kept.
   *
   *  Browsers show what one tab writes to another one a moment later, and a lock may arrive before that: without more, two tabs
   *  lose some of each other's payments. So from its writing on, and as long as it lives, a page holds a second lock, whose name
   *  says how many reports the ledger has had; and whoever reads next waits until they see as many. */
  function keeper(storage, name) {
    const locks = root.navigator?.locks;
    const sign = `discreet paid ${JSON.stringify(name)} `;
    let release = () => {};

    /** The ledger as this page sees it, null where there is none. */
    function see() {
      let text;
      try {
        text = storage.getItem(name) ?? null;
      } catch (problem) {
        throw refusal("LedgerRefused", `The client's ledger cannot be read (${problem?.name}); nothing is reported without it.`);
      }
      return text === null ? null : readLedger(text);
    }

    async function read() {
      const held = locks ? (await locks.query()).held.filter((lock) => lock.name.startsWith(sign)) : [];
      const latest = Math.max(-1, ...held.map((lock) => Number(lock.name.slice(sign.length))));
      for (let look = 0; look < LOOKS; look += 1) {
        const life = see();
        if ((life === null ? -1 : reportsOf(life)) >= latest) return life;
        await new Promise((resume) => root.setTimeout(resume, PAUSE));
      }
      const instead = "nothing was reported. Close the other pages, or choose another name for this ledger.";
      throw refusal("LedgerRefused", `Another page has written a ledger that this one cannot see; ${instead}`);
    }

    async function write(life) {
      const text = canonical(life);
      let problem = "it was not kept";
      try {
        storage.setItem(name, text);
        if (storage.getItem(name) === text) problem = "";
      } catch (error) {
        problem = `${error?.name}`;
      }
      if (problem) throw refusal("LedgerRefused", `The client's ledger cannot be written (${problem}); nothing was reported.`);
      if (!locks) return;
      const before = release;
      release = await new Promise(function (held, failed) {
        locks.request(sign + reportsOf(life), { mode: "shared" }, () => new Promise(held)).catch(failed);
      });
      before();
    }

    return { see, read, write };
  }

  /** A person's client. Its total is fixed when its ledger begins; leave out epsilon afterwards. */
  async function openClient({ storage, epsilon, name = "discreet" } = {}) {
    if (typeof storage?.getItem !== "function" || typeof storage?.setItem !== "function" || !isText(name)) {
      const instead = "openClient({ storage: localStorage, epsilon: 4 })";
      throw refusal("ParameterError", `A client keeps its ledger in a storage, under a name that is a text; write ${instead}.`);
    }
    const total = epsilon === undefined ? null : readTotal(epsilon);
    const ledger = keeper(storage, name);
    await alone(name, async function () {
      const life = await ledger.read();
      if (life === null && total === null) {
        const instead = "write openClient({ storage, epsilon: 4 }) to begin one.";
        throw refusal("ParameterError", `There is no ledger of this client yet; ${instead}`);
      }
      if (life === null) {
        const secret = hexadecimal(words(4));
        const facts = { discreet: "local client", version: LEDGER_VERSION, total: written(total), secret };
        await ledger.write({ ...facts, spent: {}, reports: {}, seen: {} });
      } else if (total !== null && written(total) !== life.total) {
        throw refusal("ParameterError", "This client's total was fixed when its ledger began; leave out epsilon.");
      }
    });

    const now = (life = ledger.see()) => life ?? readLedger(""); // refuses one that has gone

    /** One report of this person, paid for before it leaves.
     *
     *  A task costs its epsilon every time. A repeated task costs `values` times its permanent epsilon before its first report, and
     *  nothing afterwards, whatever the values are. */
    async function randomize(task, value, { nonce = false } = {}) {
      const { settle, draw, epsilon: price, memory } = partsOf(task);
      if (Array.isArray(value)) throw refusal("ValueRefused", "A client reports for one person: give one value, not many.");
      return alone(name, async function () {
        const life = now(await ledger.read());
        const code = settle(value);
        if (!memory) {
          const report = reportOf(task.hash, draw(code), nonce);
          await ledger.write(paid(life, task.hash, price, null));
          return report;
        }
        const secret = bytesFrom(life.secret);
        const begun = Object.hasOwn(life.seen, task.hash);
        const [answered, seen] = memory.answered(secret, task.hash, code, begun ? life.seen[task.hash] : []);
        const report = reportOf(task.hash, memory.again(memory.permanentCode(secret, task.hash, answered)), nonce);
        await ledger.write(paid(life, task.hash, begun ? ZERO : memory.price, seen));
        return report;
      });
    }

    /** What the reports to a repeated task tell about this person so far; null before the first one. */
    function lifetime(task) {
      const { epsilon: price, memory } = partsOf(task);
      const life = now();
      if (!memory || !Object.hasOwn(life.seen, task.hash)) return null;
      const [reports, values] = [life.reports[task.hash], memory.values];
      const fresh = exactly(memory.freshEpsilon());
      const any = { num: fresh.num * BigInt(reports), den: fresh.den };
      const different = { num: memory.permanent.num * BigInt(Math.min(values, reports)), den: memory.permanent.den };
      const same = reduced(isLess(any, different) ? any : different);
      return Object.freeze({
        reports,
        values,
        oneReport: amountOf(price),
        samePattern: amountOf(same), // between histories that are equal at the same pairs of times
        anyHistory: smallest((double) => !isLess(double, any)), // between any two histories; rounded up
      });
    }

    return Object.freeze({
      randomize,
      lifetime,
      get total() {
        return amountOf(readAmount(now().total));
      },
      get spent() {
        return amountOf(spentOf(now()));
      },
      get left() {
        const life = now();
        return amountOf(reduced(minus(readAmount(life.total), spentOf(life))));
      },
    });
  }

  function partsOf(task) {
    const parts = PARTS.get(task);
    if (parts !== undefined) return parts;
    throw refusal("TaskRefused", "This is not a task that was read here; give what discreet.readTask returned.");
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

  const sha256 = (text) => digest(new TextEncoder().encode(text));

  /** HMAC-SHA256 (RFC 2104) of a text under a key of at most 64 bytes. */
  function hmac(key, text) {
    function keyed(byte, message) {
      const whole = new Uint8Array(64 + message.length).fill(byte, 0, 64);
      key.forEach((one, i) => (whole[i] ^= one));
      whole.set(message, 64);
      return digest(whole);
    }
    return keyed(0x5c, bytesFrom(keyed(0x36, new TextEncoder().encode(text))));
  }

  const bytesFrom = (digits) => digits.match(/../g).map((byte) => parseInt(byte, 16));

  /** The SHA-256 of bytes, as 64 hexadecimal digits. */
  function digest(bytes) {
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

  /** The words of a text by the rules of a tokenizer, as a task has them. */
  const tokens = (text, rules) => readTokenizer(rules).tokens(text);

  return Object.freeze({ readTask, openClient, tokens, version: VERSION });
});
