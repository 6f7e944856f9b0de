import java.util.Random;

/** Names that depend on the seed and on what is named only, not on the order in which things are made. */
final class Names {
    private static final String CONSONANTS = "bcdfghklmnprstvz";
    private static final String VOWELS = "aeiou";
    private final long seed;

    Names(long seed) {
        this.seed = seed;
    }

    /** Such as {@code compact-rudo-1}: what it is, a word, the seed. */
    String of(String kind) {
        Random random = random(kind);
        StringBuilder word = new StringBuilder();
        for (int syllable = 0; syllable < 2; syllable++) {
            word.append(CONSONANTS.charAt(random.nextInt(CONSONANTS.length())));
            word.append(VOWELS.charAt(random.nextInt(VOWELS.length())));
        }
        return kind + "-" + word + "-" + seed;
    }

    /** Chance for one purpose. */
    Random random(String purpose) {
        return new Random(seed * 1_000_003L + purpose.hashCode());
    }

    /** The password of every user that is made here, by Seed or when a node is formatted. */
    static String password(String user) {
        return "secret-" + user;
    }
}
