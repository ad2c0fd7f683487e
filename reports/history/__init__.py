"""Keep results over time: ingest them into Parquet, query them with DuckDB, judge changes."""
