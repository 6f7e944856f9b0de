package org.apache.spark.kafka010;

import java.util.HashMap;

/** The connector's clients are configured by it; without delegation tokens there is nothing to add. */
public final class KafkaConfigUpdater {
    private final java.util.Map<String, Object> values = new HashMap<>();

    public KafkaConfigUpdater(String module, scala.collection.immutable.Map<String, Object> given) {
        given.foreachEntry((key, value) -> values.put(key, value));
    }

    public KafkaConfigUpdater set(String key, Object value) {
        values.put(key, value);
        return this;
    }

    public KafkaConfigUpdater setIfUnset(String key, Object value) {
        values.putIfAbsent(key, value);
        return this;
    }

    public KafkaConfigUpdater setAuthenticationConfigIfNeeded() {
        return this;
    }

    public KafkaConfigUpdater setAuthenticationConfigIfNeeded(scala.Option<?> tokenClusterConfig) {
        return setAuthenticationConfigIfNeeded();
    }

    public java.util.Map<String, Object> build() {
        return values;
    }
}
