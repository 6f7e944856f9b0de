package org.apache.spark.kafka010;

import org.apache.spark.SparkConf;

/** Delegation tokens: there are none. */
public final class KafkaTokenUtil$ {
    public static final KafkaTokenUtil$ MODULE$ = new KafkaTokenUtil$();

    private KafkaTokenUtil$() {
    }

    public scala.Option<KafkaTokenClusterConf> findMatchingTokenClusterConfig(SparkConf config, String servers) {
        return scala.Option.empty();
    }

    public boolean needTokenUpdate(java.util.Map<String, Object> parameters, scala.Option<KafkaTokenClusterConf> one) {
        return false;
    }
}
