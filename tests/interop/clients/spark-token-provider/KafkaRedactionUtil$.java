package org.apache.spark.kafka010;

/** What is logged of a client's parameters: their names. */
public final class KafkaRedactionUtil$ {
    public static final KafkaRedactionUtil$ MODULE$ = new KafkaRedactionUtil$();

    private KafkaRedactionUtil$() {
    }

    public scala.collection.immutable.Seq<scala.Tuple2<String, String>> redactParams(
            scala.collection.immutable.Seq<scala.Tuple2<String, Object>> parameters) {
        return (scala.collection.immutable.Seq<scala.Tuple2<String, String>>)
            parameters.map(one -> new scala.Tuple2<>(one._1(), "(not shown)"));
    }
}
