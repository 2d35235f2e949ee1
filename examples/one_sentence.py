"""One sentence, five ways to release it, three epsilons: what is promised to whom, what is kept, and what an attacker gets.

The lecture on local privacy ends with text: "publishing data for training, but it comes with a cost". This is the cost. Word by
word, a sentence pays epsilon for every word; one sampled word or what the sentence is about pay epsilon once. Nobody is trusted.
"""

import math

import discreet as dp

sentence = "Please call the doctor in London on Monday about my cancer test"
words = dp.texts.Vocabulary.english(5_000)  # public, as is everything below but the sentence
tree = dp.texts.Tree.brown(words)
length = 12
topics = {"health": ["doctor", "cancer", "test"], "travel": ["london", "train"], "work": ["office", "meeting"]}
print(f"{'':14} {'epsilon':>7}  {'guarantee':32} {'kept':>6} {'guessed':>7}  released")

for epsilon in (2, 8, 16):
    by_word = {
        "k-ary": dp.texts.Substitute(words, epsilon, length=length),
        "tree": dp.texts.Substitute(words, epsilon, length=length, tree=tree),
        "metric": dp.texts.Substitute(words, epsilon / 4, length=length, distance=tree),  # at worst epsilon, at the far end
    }
    for name, task in by_word.items():
        terms = task.terms
        assert math.isclose(terms.worst_word, epsilon)
        guarantee = f"word {terms.worst_word:g}, document {terms.document:g}"
        said = f"at worst {guarantee}" if name == "metric" else guarantee
        print(f"{name:14} {epsilon:7}  {said:32} {terms.kept:6.1%} {terms.guessed:7.1%}  {task.release(sentence).documents[0]}")

    # A guess at the sampled word is as good as at a word substituted at the same epsilon; but this is all that leaves.
    one = dp.texts.WordShares(words, epsilon, protocol="k-ary")
    report = one.randomize(sentence)
    same = by_word["k-ary"].terms
    shown = words.items[report.r]
    print(f"{'one word':14} {epsilon:7}  {f'person {epsilon}':32} {same.kept:6.1%} {same.guessed:7.1%}  {shown}")

    about = dp.texts.Topics(topics, epsilon)
    truth = about.protocol.rates.truth
    told = about.domain.items[about.randomize(sentence).r]
    print(f"{'topic':14} {epsilon:7}  {f'document {epsilon}':32} {truth:6.1%} {truth:7.1%}  about {told}")

blind = same.blind
print(f"\nwithout any report, the best guess at a word is right {blind:.1%} of the time; order is not hidden by substitution")
