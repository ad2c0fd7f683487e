"""Results over time: ingest into Parquet, query with DuckDB, judge changes."""
